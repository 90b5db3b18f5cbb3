// A worker in plain JavaScript: register, claim with a long poll, renew the lease, complete or fail.
//   HOLDFAST_URL=http://127.0.0.1:8080 node examples/worker.mjs
import { hostname } from "node:os";

const url = process.env.HOLDFAST_URL ?? "http://127.0.0.1:8080";
const key = process.env.HOLDFAST_KEY;
const instance = `js.${hostname().replace(/[^A-Za-z0-9.-]/g, "-")}.${process.pid}`;
const lanes = ["default"], leaseMs = 10_000;
let stopping = false;
// The first signal lets the worker finish its executions; a second one ends it at once.
for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => { stopping = true; });

// The tasks of this worker: an async function for each kind. `step` runs a function and records
// its result in the store, so a later attempt does not run it again.
const tasks = {
  "js.greet": async ({ name }) => `Hello, ${name}!`,
  "js.order": async (input, step) => {
    const receipt = await step("charge", async () => ({ receipt: input.amount * 100 }));
    return step("mail", async () => `sent ${receipt.receipt}`);
  },
};
const kinds = Object.keys(tasks); // Executions of other kinds wait for a worker that has them.

async function call(method, path, body) {
  const response = await fetch(url + path, {
    method,
    headers: { "Content-Type": "application/json", ...(key && { Authorization: `Bearer ${key}` }) },
    body: body && JSON.stringify(body),
  });
  const answer = response.status === 204 ? null : await response.json();
  if (!response.ok) throw Object.assign(new Error(answer.detail), answer);
  return answer;
}

async function run({ execution, input, lease, steps }) {
  const path = `/v1/executions/${encodeURIComponent(execution.id)}`;
  const beat = setInterval(() => call("POST", "/v1/leases:renew",
    { items: [{ execution: execution.id, lease }], lease_ms: leaseMs }).catch(console.error), leaseMs / 3);
  const step = async (name, work) => name in steps ? steps[name]
    : (await call("POST", `${path}/steps`, { lease, name, result: (await work()) ?? null })).result;
  try {
    const result = await tasks[execution.kind](input, step);
    await call("POST", `${path}/complete`, { lease, result: result ?? null });
  } catch (error) {
    // An error with a code comes from the server, such as a lost lease: there is nothing to report.
    if (!error.code) await call("POST", `${path}/fail`, { lease, error: { type: error.name, message: error.message } });
  } finally {
    clearInterval(beat);
  }
}

while (!stopping) {
  try {
    const { draining } = await call("PUT", `/v1/workers/${instance}`, { worker: "js", lanes, kinds, slots: 4 });
    if (draining) break;
    const { claims } = await call("POST", `/v1/workers/${instance}/claim`,
      { lanes, kinds, max: 4, lease_ms: leaseMs, wait_ms: 5_000 });
    await Promise.all(claims.map(run));
  } catch (error) {
    console.error(error.message);
    await new Promise((done) => setTimeout(done, 1_000));
  }
}
await call("DELETE", `/v1/workers/${instance}`);
