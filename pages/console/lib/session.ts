// Who looks at the console, for which tenant, and what this caller may do.

import { computed, signal } from "@preact/signals";

import type { Role } from "../api/schemas";
import { go, here, place, root } from "./address";
import { call, Problem, send, unknown, type Reply } from "./call";

export type Me = Reply<"GET /v1/me">;

export const me = signal<Me | null>(null);
export const mustLogIn = signal(false);
export const meProblem = signal<Problem | null>(null);

/** The tenant whose things are shown; null for those of all tenants. */
export const tenant = computed(() => me.value?.tenant ?? (place.value.query.get("tenant") || null));

/** The tenant for a query; undefined where the caller's key already says it. */
export const scope = computed(() => (me.value?.tenant ? undefined : (tenant.value ?? undefined)));

/** The only tenant that is shown, for feeds and bulk actions; null where there are several. */
export function oneTenant(): string | null {
  const tenants = me.value?.tenants ?? [];
  if (tenant.value) return tenant.value;
  return tenants.length === 1 ? tenants[0]! : tenants.length ? null : "default";
}

unknown.caller = () => {
  mustLogIn.value = true;
};

export async function identify(): Promise<void> {
  try {
    me.value = await call("GET /v1/me");
    meProblem.value = null;
    mustLogIn.value = false;
  } catch (error) {
    if (error instanceof Problem && error.status !== 401) meProblem.value = error;
  }
}

export async function logIn(key: string): Promise<void> {
  const response = await send("POST", `${root}console/login`, { key });
  me.value = (await response.json()) as Me;
  meProblem.value = null;
  mustLogIn.value = false;
}

export async function logOut(): Promise<void> {
  await send("POST", `${root}console/logout`, {});
  me.value = null;
  mustLogIn.value = true;
}

export function chooseTenant(name: string | null): void {
  go(here({ tenant: name, cursor: null }));
}

/** Whether the caller has a role; admins have all. */
export function may(role: Role): boolean {
  const roles = me.value?.roles ?? [];
  return roles.includes(role) || roles.includes("admin");
}

/** Whether the caller may read inputs, results and messages. */
export function seesPayloads(): boolean {
  return me.value?.payloads !== "none";
}
