//! Personas that name a model which can't be asked: another one stands in, and the answer says which.

use serde_json::json;
use watchfloor_sim::model::Rule;

use crate::{setting::Setting, stage::ALICE};

fn persona(name: &str, model: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Looks at one thing.\nwhen_to_use: For questions in a story.\nmodel: {model}\n---\nLook.\n"
    )
}

#[tokio::test]
async fn a_persona_whose_provider_is_not_configured_runs_on_another_model_and_the_answer_says_so() {
    let send = json!({"description": "have a look", "subagent_type": "looker", "prompt": "Look."});
    let rules = [
        Rule::call("AgentTool", send).when_persona("default").when_step(0),
        Rule::reply("It is full.").when_persona("default").when_step(1),
        Rule::reply("Full.").when_persona("looker"),
    ];
    let stage = Setting::default().rules(rules).file("looker.md", &persona("looker", "zhipu/glm-4.7")).open().await;
    let thread = stage.ask(ALICE, "is it full?").await;
    assert_eq!(
        stage.answer().await,
        "It is full.\n\nlooker ran on openai/story: its own model zhipu/glm-4.7 is not configured."
    );
    let session = stage.session(&thread).await.unwrap();
    let worker = stage.app.store.sessions().workers(&session.id).await.unwrap().remove(0);
    assert_eq!(worker.model.as_deref(), Some("openai/story"));
    stage.done().await;
}

#[tokio::test]
async fn a_coordinator_whose_provider_is_not_configured_runs_on_the_default_model_and_says_so() {
    let rules = [Rule::reply("All is well.").when_persona("default")];
    let stage = Setting::default().rules(rules).file("default.md", &persona("default", "zhipu/glm-4.7")).open().await;
    stage.ask(ALICE, "is it well?").await;
    assert_eq!(
        stage.answer().await,
        "All is well.\n\ndefault ran on openai/story: its own model zhipu/glm-4.7 is not configured."
    );
    stage.done().await;
}
