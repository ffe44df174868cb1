//! The long connection's binary frames, and how each kind is answered. Which frames belong together is left to `parts`.

use std::time::Duration;

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use prost::Message;
use serde::Serialize;
use serde_json::Value;

pub(super) const CONTROL: i32 = 0;
pub(super) const DATA: i32 = 1;

/// `pbbp2.Frame`. The required fields are written even when zero: the platform takes no frame without them.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Frame {
    #[prost(uint64, required, tag = "1")]
    pub(super) seq_id: u64,
    #[prost(uint64, required, tag = "2")]
    pub(super) log_id: u64,
    #[prost(int32, required, tag = "3")]
    pub(super) service: i32,
    #[prost(int32, required, tag = "4")]
    pub(super) method: i32,
    #[prost(message, repeated, tag = "5")]
    pub(super) headers: Vec<Header>,
    #[prost(string, optional, tag = "6")]
    pub(super) payload_encoding: Option<String>,
    #[prost(string, optional, tag = "7")]
    pub(super) payload_type: Option<String>,
    #[prost(bytes = "bytes", optional, tag = "8")]
    pub(super) payload: Option<Bytes>,
    #[prost(string, optional, tag = "9")]
    pub(super) log_id_new: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Header {
    #[prost(string, required, tag = "1")]
    pub(super) key: String,
    #[prost(string, required, tag = "2")]
    pub(super) value: String,
}

/// What the platform is told about a push.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    Taken,
    /// A callback's result.
    Result(Value),
    /// Bring it again.
    NotStored,
}

impl Frame {
    pub(super) fn read(bytes: Bytes) -> Option<Self> {
        Self::decode(bytes).ok()
    }

    pub(super) fn ping(service: i32) -> Self {
        let kind = Header { key: "type".to_owned(), value: "ping".to_owned() };
        Self { service, method: CONTROL, headers: vec![kind], ..Self::default() }
    }

    pub(super) fn header(&self, key: &str) -> Option<&str> {
        self.headers.iter().find(|header| header.key == key).map(|header| header.value.as_str())
    }

    /// The same frame back, with everything that it said about itself, and how long it took us.
    pub(super) fn answered(mut self, answer: &Answer, took: Duration) -> Self {
        self.headers.push(Header { key: "biz_rt".to_owned(), value: took.as_millis().to_string() });
        let (code, data) = match answer {
            Answer::Taken => (200, None),
            Answer::Result(result) => (200, Some(BASE64_STANDARD.encode(result.to_string()))),
            Answer::NotStored => (500, None),
        };
        let payload = serde_json::to_vec(&Payload { code, headers: None, data }).unwrap_or_default();
        self.payload = Some(payload.into());
        self
    }
}

#[derive(Serialize)]
struct Payload {
    code: u16,
    headers: Option<()>,
    data: Option<String>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::{
        super::vectors::{all, bytes, named, text},
        *,
    };

    fn fields(frame: &Frame) -> Value {
        let headers: Vec<_> = frame.headers.iter().map(|header| json!([header.key, header.value])).collect();
        json!({"SeqID": frame.seq_id.to_string(), "LogID": frame.log_id.to_string(), "service": frame.service,
            "method": frame.method, "headers": headers})
    }

    #[test]
    fn frames_of_the_official_clients_are_read_and_written_again_byte_for_byte() {
        for vector in all("frames") {
            let name = text(vector, "name");
            let spellings = ["hex", "hex_with_empty_optionals", "hex_without_optionals"];
            for hex in spellings.into_iter().filter_map(|key| vector.get(key)?.as_str()) {
                let frame = Frame::read(bytes(hex)).unwrap_or_else(|| panic!("{name} is not read"));
                let wanted = &vector["fields"];
                for (key, value) in fields(&frame).as_object().unwrap() {
                    assert_eq!(&wanted[key], value, "{name}: {key}");
                }
                let payload = frame.payload.clone().unwrap_or_default();
                if let Some(wanted) = wanted["payload_text"].as_str() {
                    assert_eq!(payload, wanted, "{name}");
                }
                if let Some(wanted) = wanted["payload_hex"].as_str() {
                    assert_eq!(payload, bytes(wanted), "{name}");
                }
                assert_eq!(Bytes::from(frame.encode_to_vec()), bytes(hex), "{name}");
            }
        }
    }

    #[test]
    fn our_ping_has_the_bytes_of_the_official_clients() {
        assert_eq!(Bytes::from(Frame::ping(7).encode_to_vec()), bytes(text(named("frames", "ping_service_7"), "hex")));
    }

    /// What an official client would send for these frames, apart from spaces in the payload and the time it took.
    fn acknowledged(name: &str, client: &str) -> (Frame, Value) {
        let hex = named("acks", name)["acks"][client]["hex"].as_str().unwrap();
        let mut frame = Frame::read(bytes(hex)).unwrap();
        let payload = serde_json::from_slice(&frame.payload.take().unwrap()).unwrap();
        for header in frame.headers.iter_mut().filter(|header| header.key == "biz_rt") {
            header.value = "0".to_owned();
        }
        (frame, payload)
    }

    /// What we send on the frame that completed the push.
    fn ours(name: &str, answer: &Answer) -> (Frame, Value) {
        let last = named("acks", name)["input_frames"].as_array().unwrap().last().unwrap().as_str().unwrap();
        let pushed = Frame::read(bytes(text(named("frames", last), "hex"))).unwrap();
        let mut frame = pushed.answered(answer, Duration::ZERO);
        let payload = serde_json::from_slice(&frame.payload.take().unwrap()).unwrap();
        (frame, payload)
    }

    #[test]
    fn acknowledgements_are_those_of_the_official_clients() {
        let toast = json!({"toast": {"type": "success", "content": "已批准"}});
        for (name, answer, client) in [
            ("ack_ok", Answer::Taken, "go"),
            ("ack_handler_error", Answer::NotStored, "go"),
            ("ack_split_in_order", Answer::Taken, "go"),
            ("ack_split_reversed", Answer::Taken, "go"),
            ("ack_card_action_with_toast", Answer::Result(toast), "python"),
        ] {
            let ((wanted, wanted_payload), (frame, mut payload)) = (acknowledged(name, client), ours(name, &answer));
            if client == "python" {
                // That client leaves out what is empty, and writes JSON with spaces.
                payload.as_object_mut().unwrap().remove("headers");
            }
            let decoded = |payload: &Value| {
                let data = payload["data"].as_str()?;
                serde_json::from_slice::<Value>(&BASE64_STANDARD.decode(data).unwrap()).ok()
            };
            assert_eq!((frame, payload["code"].clone()), (wanted, wanted_payload["code"].clone()), "{name}");
            assert_eq!(decoded(&payload), decoded(&wanted_payload), "{name}");
        }
        let bare = text(&named("acks", "ack_ok")["acks"]["go"], "hex");
        let pushed = Frame::read(bytes(text(named("frames", "event_single"), "hex"))).unwrap();
        assert_eq!(Bytes::from(pushed.answered(&Answer::Taken, Duration::ZERO).encode_to_vec()), bytes(bare));
    }

    /// Two of three official clients ask for it again (500), and all three leave cards unanswered; both cause trouble.
    #[test]
    fn unlike_official_clients_an_unknown_event_and_a_card_are_acknowledged() {
        for name in ["ack_event_type_without_handler", "no_ack_for_type_card"] {
            let (frame, payload) = ours(name, &Answer::Taken);
            assert_eq!((payload["code"].as_i64(), frame.header("biz_rt")), (Some(200), Some("0")), "{name}");
        }
    }

    /// One official client rounds them to a double: its acknowledgement is not ours.
    #[test]
    fn ids_keep_all_their_bits() {
        let (frame, _) = ours("ack_ok", &Answer::Taken);
        assert_eq!(frame.log_id, 1_234_567_890_123_456_789);
        let rounded = bytes(text(&named("acks", "ack_ok")["acks"]["node"], "hex"));
        assert_eq!(Frame::read(rounded).unwrap().log_id, 1_234_567_890_123_456_768);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(noise in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Some(frame) = Frame::read(noise.into()) {
                frame.answered(&Answer::Taken, Duration::ZERO).encode_to_vec();
            }
        }

        #[test]
        fn a_frame_with_bytes_changed_is_read_without_panic(
            which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), by in any::<u8>(),
        ) {
            let vectors = all("frames");
            let mut frame = bytes(text(&vectors[which.index(vectors.len())], "hex")).to_vec();
            let at = at.index(frame.len());
            frame[at] = frame[at].wrapping_add(by);
            Frame::read(frame.clone().into());
            frame.truncate(at);
            Frame::read(frame.into());
        }

        #[test]
        fn what_is_written_is_read_again(
            seq_id in any::<u64>(), log_id in any::<u64>(), service in any::<i32>(), method in any::<i32>(),
            headers in proptest::collection::vec((".{0,8}", ".{0,8}"), 0..5),
            payload in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..50)),
        ) {
            let headers = headers.into_iter().map(|(key, value)| Header { key, value }).collect();
            let payload = payload.map(Bytes::from);
            let frame = Frame { seq_id, log_id, service, method, headers, payload, ..Frame::default() };
            prop_assert_eq!(Frame::read(frame.encode_to_vec().into()), Some(frame));
        }
    }
}
