// Calls that the server gets at the same time as the console.

import type * as api from "./schemas";

export interface Target { noun: string; id: string }
export interface Soon {
  "POST /v1/executions/{id}/resubmit": { query: { tenant?: string }; body: { input?: api.Json; lane?: string; priority?: number }; reply: { id: string; state: string; origin: string } };
}

/** Parts of answers that the server adds. */
export interface ChainLink { text: string; target: Target | null }
