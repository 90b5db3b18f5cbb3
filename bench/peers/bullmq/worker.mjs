// BullMQ: one process, a hundred jobs at a time.
import { openSync, writeSync } from "node:fs";

import { Worker } from "bullmq";

const { port } = new URL(process.env.BENCH_STORE);
const ledger = openSync(process.env.BENCH_LEDGER, "a");
const record = async () => {
  const entry = Buffer.alloc(8);
  entry.writeBigInt64LE(process.hrtime.bigint());
  writeSync(ledger, entry);
};
new Worker("bench", record, { connection: { port: Number(port), maxRetriesPerRequest: null }, concurrency: 100 });
