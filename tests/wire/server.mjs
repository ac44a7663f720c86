// Serves fixtures.json on a free port of the loopback. Says where, and ends when its standard input does: then whoever
// started it is gone or done, however that came.
import { LLMock } from "@copilotkit/aimock";
import { fileURLToPath } from "node:url";

const mock = new LLMock({ host: "127.0.0.1", port: 0, strict: true, chunkSize: 7, logLevel: "info" });
mock.loadFixtureFile(fileURLToPath(new URL("fixtures.json", import.meta.url)));
if (mock.getFixtures().length === 0) process.exit(1); // the log says why
console.log(`serving on ${await mock.start()}`);
process.stdin.on("end", () => process.exit(0)).resume();
