// The page around the chat, if it is shown in a frame: only the one that loaded it is heard.

import { effect } from "@preact/signals";

import type { Conversation } from "./conversation";

export class Host {
  readonly isFramed: boolean;

  constructor(
    private readonly origin: string | null,
    chat: Conversation,
  ) {
    this.isFramed = window.parent !== window && origin !== null;
    if (!this.isFramed) return;
    addEventListener("message", (event: MessageEvent) => {
      if (event.source !== window.parent || event.origin !== origin) return;
      const { holdfast, text } = (event.data ?? {}) as { holdfast?: string; text?: string };
      if (holdfast === "send" && typeof text === "string" && text.trim()) chat.say(text);
      else if (holdfast === "focus") document.getElementById("message")?.focus();
    });
    effect(() => this.notify("reply", { number: chat.lastReply.value }));
    this.notify("ready");
  }

  close(): void {
    this.notify("close");
  }

  private notify(what: string, more: object = {}): void {
    if (this.isFramed) window.parent.postMessage({ holdfast: what, ...more }, this.origin!);
  }
}
