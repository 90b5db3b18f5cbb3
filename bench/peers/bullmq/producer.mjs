// BullMQ: jobs are added in bulk.
import { Queue } from "bullmq";

const { port } = new URL(process.env.BENCH_STORE);
const queue = new Queue("bench", { connection: { port: Number(port) } });
const count = Number(process.argv[2]);
await queue.waitUntilReady();
const started = process.hrtime.bigint();
for (let done = 0; done < count; done += 1000)
  await queue.addBulk(Array.from({ length: Math.min(1000, count - done) }, () => ({ name: "nothing", data: { text: "x".repeat(100) } })));
console.log(Number(process.hrtime.bigint() - started) / 1e9);
await queue.close();
