// Calls that the server gets at the same time as the console.

import type * as api from "./schemas";

export interface Target { noun: string; id: string }
export interface Soon {
  "POST /v1/executions/{id}/resubmit": { query: { tenant?: string }; body: { input?: api.Json; lane?: string; priority?: number }; reply: { id: string; state: string; origin: string } };
  "POST /v1/bulk": { query: {}; body: { action: string; filter: Record<string, api.Json>; reason: string; priority?: number; dry_run?: boolean; expected?: number }; reply: { count: number; exact?: boolean; text?: string; examples?: string[]; execution?: string } };
  "GET /v1/bulk/{id}": { query: {}; body: undefined; reply: { execution: string; action: string; state: string; done: number; refused: number; total: number; reason: string; started_at: string | null; ended_at: string | null } };
  "GET /v1/bulk/{id}/items": { query: { after?: string }; body: undefined; reply: { items: { id: string; ok: boolean; code?: string; detail?: string }[]; next_cursor: string | null } };
  "GET /v1/trends": { query: { span?: string; tenant?: string }; body: undefined; reply: { step_ms: number; start: string; points: number; lanes: { lane: string; waiting: (number | null)[]; active: (number | null)[]; ended: (number | null)[]; failed: (number | null)[] }[]; queues: { queue: string; ready: (number | null)[]; in_flight: (number | null)[]; dead: (number | null)[] }[] } };
  "GET /v1/views": { query: {}; body: undefined; reply: { items: { name: string; page: string; query: string; at: string }[] } };
  "PUT /v1/views/{name}": { query: {}; body: { page: string; query: string }; reply: { name: string } };
  "DELETE /v1/views/{name}": { query: {}; body: undefined; reply: undefined };
  "GET /v1/find": { query: { id: string; tenant?: string }; body: undefined; reply: { items: { noun: string; id: string; tenant: string | null; title: string }[] } };
}

/** Parts of answers that the server adds. */
export interface ChainLink { text: string; target: Target | null }
