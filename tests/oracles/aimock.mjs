// A model server by CopilotKit, with the answers of FIXTURES and the troubles of CHAOS. It runs until it is ended.
import { LLMock } from "@copilotkit/aimock";

const { CHAOS, FIXTURES } = process.env;
const mock = new LLMock({ port: 0, host: "127.0.0.1", strict: true, chunkSize: 7, chaos: CHAOS ? JSON.parse(CHAOS) : undefined });
for (const { match, response } of JSON.parse(FIXTURES)) mock.on(match, response);
console.log(JSON.stringify({ url: await mock.start() }));
