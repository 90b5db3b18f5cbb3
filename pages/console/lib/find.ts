// What has an id that a person pasted: the server asks every noun in one call.

import { call, type Reply } from "./call";
import { me, scope } from "./session";

export type Found = Reply<"GET /v1/find">["items"][number];

export async function find(text: string, signal: AbortSignal): Promise<Found[]> {
  const id = text.trim();
  const tenant = scope.value ?? (me.value?.tenant ? undefined : "*");
  return (await call("GET /v1/find", { query: { id, tenant }, signal })).items;
}
