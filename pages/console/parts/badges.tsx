// Counts that the frame shows: what waits for a person, and what fails.

import { effect, signal } from "@preact/signals";

import { call } from "../lib/call";
import { listen } from "../lib/live";
import { me, scope } from "../lib/session";

export const inboxCount = signal(0);

/** Count the inbox, and again when something in it changes. */
export function watchBadges(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const read = async (): Promise<void> => {
    timer = undefined;
    try {
      const found = await call("GET /v1/waitpoints", { query: { tenant: scope.value, limit: 100 } });
      inboxCount.value = found.items.length;
    } catch {
      // The page itself says what failed.
    }
  };
  effect(() => {
    if (me.value) {
      void scope.value;
      void read();
    }
  });
  listen((changes) => {
    const matters = changes.some((change) => change.type === "all" || change.type === "waitpoint" || change.data.state === "suspended" || change.data.from === "suspended");
    if (matters) timer ??= setTimeout(() => void read(), 1_500);
  });
}
