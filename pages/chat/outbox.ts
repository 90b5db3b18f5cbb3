// Messages on their way: kept in the browser until the server has them, and sent in order.

import { signal, type Signal } from "@preact/signals";

import { Refusal } from "./calls";
import type { Message } from "./types";
import { words } from "./words";

const PAUSES_MS = [500, 1_000, 2_000, 5_000, 10_000];

export interface Pending {
  message: Message;
  at: string;
  /** `sent`: the server has it, and its line is about to arrive. */
  status: "waiting" | "sending" | "sent" | "failed";
  problem?: string;
}

export interface Mail {
  send(message: Message): Promise<unknown>;
  /** The visit has expired: begin it again. */
  renew(): Promise<unknown>;
  sent(): void;
  /** The server did not answer. */
  lost(): void;
}

export class Outbox {
  readonly items: Signal<Pending[]> = signal([]);
  private working = false;
  private wake: (() => void) | null = null;

  constructor(
    private readonly mail: Mail,
    private readonly key: () => string,
  ) {
    addEventListener("online", () => this.hurry());
  }

  /** Take up what an earlier page of this browser could not send. */
  load(): void {
    try {
      const kept = JSON.parse(localStorage.getItem(this.key()) ?? "[]") as Pending[];
      const known = new Set(this.items.value.map((item) => item.message.id));
      const found = kept.filter((item) => item?.message?.id && !known.has(item.message.id));
      this.items.value = [...found.map((item) => ({ ...item, status: "waiting" as const })), ...this.items.value];
    } catch {
      // Storage is off, or holds something else.
    }
    void this.work();
  }

  add(message: Message): void {
    this.items.value = [...this.items.value, { message, at: new Date().toISOString(), status: "waiting" }];
    this.keep();
    void this.work();
  }

  retry(id: string): void {
    this.change(id, { status: "waiting" });
    void this.work();
  }

  drop(id: string): void {
    this.items.value = this.items.value.filter((item) => item.message.id !== id);
    this.keep();
  }

  clear(): void {
    this.items.value = [];
    this.keep();
  }

  /** The transcript has these messages. */
  arrived(ids: Set<string>): void {
    if (this.items.value.some((item) => ids.has(item.message.id))) {
      this.items.value = this.items.value.filter((item) => !ids.has(item.message.id));
      this.keep();
    }
  }

  hurry(): void {
    this.wake?.();
  }

  private async work(): Promise<void> {
    if (this.working) return;
    this.working = true;
    let failures = 0;
    for (let item = this.next(); item; item = this.next()) {
      const outcome = await this.attempt(item);
      failures = outcome === null ? 0 : failures + 1;
      if (outcome !== null) await this.pause(outcome || PAUSES_MS[Math.min(failures, PAUSES_MS.length) - 1]!);
    }
    this.working = false;
  }

  private next(): Pending | undefined {
    return this.items.value.find((item) => item.status === "waiting");
  }

  /** Try once; returns null when that settled it, or how long to wait (0: as usual). */
  private async attempt({ message }: Pending): Promise<number | null> {
    this.change(message.id, { status: "sending" });
    try {
      await this.mail.send(message);
      this.change(message.id, { status: "sent" });
      this.keep();
      this.mail.sent();
      return null;
    } catch (error) {
      if (error instanceof Refusal && error.status === 401) {
        await this.mail.renew().catch(() => undefined);
      } else if (error instanceof Refusal && !error.passes) {
        this.change(message.id, { status: "failed", problem: problemOf(error) });
        return null;
      }
      this.change(message.id, { status: "waiting" });
      if (!(error instanceof Refusal)) this.mail.lost();
      return error instanceof Refusal ? error.retryAfter * 1000 : 0;
    }
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.wake?.(), ms);
      this.wake = () => {
        clearTimeout(timer);
        this.wake = null;
        resolve();
      };
    });
  }

  private change(id: string, change: Partial<Pending>): void {
    this.items.value = this.items.value.map((item) => (item.message.id === id ? { ...item, ...change } : item));
  }

  private keep(): void {
    const unsent = this.items.value.filter((item) => item.status !== "sent");
    try {
      if (unsent.length) localStorage.setItem(this.key(), JSON.stringify(unsent));
      else localStorage.removeItem(this.key());
    } catch {
      // Without storage, messages live as long as the page.
    }
  }
}

function problemOf(refusal: Refusal): string {
  switch (refusal.code) {
    case "too_large":
      return words.tooLong;
    case "session_busy":
      return words.busy;
    case "session_full":
      return words.full;
    case "web_chat_not_found":
      return words.closed;
    default:
      return words.failed;
  }
}
