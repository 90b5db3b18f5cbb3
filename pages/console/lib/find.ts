// What has an id that a person pasted: each noun is asked, and those that know it answer.

import { all, call } from "./call";
import { scope } from "./session";

export interface Found {
  noun: string;
  id: string;
  title: string;
}

export async function find(text: string, signal: AbortSignal): Promise<Found[]> {
  const id = text.trim();
  const query = { tenant: scope.value };
  const path = { id };
  const asked: Promise<Found>[] = [
    call("GET /v1/executions/{id}", { path, query, signal }).then((run) => ({ noun: "execution", id, title: `${run.kind} ${id}` })),
    call("GET /v1/graphs/{id}", { path, query, signal }).then(() => ({ noun: "graph", id, title: id })),
    call("GET /v1/sessions/{id}", { path, query: { ...query, lines: 1 }, signal }).then((session) => ({ noun: "session", id, title: `${session.user} ${id}` })),
    call("GET /v1/schedules/{id}", { path, query, signal }).then(() => ({ noun: "schedule", id, title: id })),
    call("GET /v1/queues/{name}", { path: { name: id }, query, signal }).then(() => ({ noun: "queue", id, title: id })),
    call("GET /v1/budgets/{id}", { path, query, signal }).then(() => ({ noun: "budget", id, title: id })),
    call("GET /v1/quotas/{id}", { path, query, signal }).then(() => ({ noun: "quota", id, title: id })),
    listed("worker", id, all((cursor) => call("GET /v1/workers", { query: { limit: 500, ...(cursor ? { cursor } : {}) }, signal })).then((rows) => rows.map((row) => row.instance))),
    listed("key", id, call("GET /v1/keys", { signal }).then((page) => page.items.map((row) => row.id))),
    listed("waitpoint", id, call("GET /v1/waitpoints", { query: { ...query, limit: 500 }, signal }).then((page) => page.items.map((row) => row.id))),
    listed("request", id, call("GET /v1/audit", { query: { ...query, limit: 500 }, signal }).then((page) => page.items.map((row) => row.request))),
  ];
  const answers = await Promise.allSettled(asked);
  return answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
}

async function listed(noun: string, id: string, ids: Promise<string[]>): Promise<Found> {
  if ((await ids).includes(id)) return { noun, id, title: id };
  throw new Error("not there");
}
