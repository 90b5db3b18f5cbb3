// The state of a conversation, and what changes it.

import { batch, computed, signal } from "@preact/signals";

import * as calls from "./calls";
import { Refusal, type ServerEvent } from "./calls";
import { Outbox } from "./outbox";
import { Stream, type Link } from "./stream";
import type { FileRef, Line, Message, Part, Payload, Standing, Takes, Visit } from "./types";
import { Uploads } from "./uploads";
import { words } from "./words";

/** A reply that is being written. */
export interface Draft {
  number: number;
  text: string;
  markdown: boolean;
}

type News = "sent" | "restarted";

export class Conversation {
  readonly lines = signal<Line[]>([]);
  readonly draft = signal<Draft | null>(null);
  readonly standing = signal<Standing>({ state: "idle", person: null });
  readonly link = signal<Link>("connecting");
  readonly hasEarlier = signal(false);
  /** Why there is no chat here. */
  readonly closed = signal<string | null>(null);
  readonly ready = signal(false);
  /** The files that the chat takes; null: none. */
  readonly takes = signal<Takes | null>(null);
  readonly uploads = new Uploads(() => this.takes.value);
  readonly outbox: Outbox;
  /** The number of the last reply. */
  readonly lastReply = computed(() => this.lines.value.findLast((line) => line.direction === "out")?.number ?? 0);
  /** What a visitor did with the buttons, the form or the card of a reply, by its number. */
  readonly answers = computed(() => {
    const found = new Map<number, Payload>();
    for (const { message } of this.outbox.items.value) if (message.reply) found.set(message.reply, message);
    for (const { direction, payload } of this.lines.value)
      if (direction === "in" && payload.reply) found.set(payload.reply, payload);
    return found;
  });
  /** Replies after this line can still be answered: the visitor has said nothing since. */
  readonly lastSaid = computed(() =>
    this.outbox.items.value.some((item) => item.status !== "failed")
      ? Infinity
      : (this.lines.value.findLast((line) => line.direction === "in")?.number ?? 0),
  );
  /** The values of the form that was sent last: when it is asked for again, it is not empty. */
  readonly lastData = computed(() => this.lines.value.findLast((line) => line.payload.reply)?.payload.data);
  readonly isTyping = computed(
    () => this.standing.value.state === "running" && this.draft.value === null && this.link.value === "live",
  );

  private number = 0;
  /** The characters of the draft. */
  private length = 0;
  private frame = 0;
  private next: Draft | null = null;
  private readonly stream: Stream;
  private readonly news: BroadcastChannel;

  constructor() {
    const place = location.pathname;
    this.outbox = new Outbox(
      {
        send: calls.say,
        renew: () => this.begin(),
        sent: () => {
          if (!this.stream.isWanted) this.link.value = "live";
          this.stream.start();
          this.news.postMessage("sent" satisfies News);
        },
        lost: () => this.linked("lost"),
      },
      () => `holdfast:outbox:${place}:${this.number}`,
    );
    this.stream = new Stream(
      {
        after: () => this.lines.value.at(-1)?.number ?? 0,
        event: (event) => this.happened(event),
        link: (link) => this.linked(link),
        refused: (refusal) => this.refused(refusal),
        behind: () => void this.begin(),
        draft: () => this.draftSoFar(),
      },
      () => `holdfast:events:${place}:${this.number}`,
    );
    this.news = new BroadcastChannel(`holdfast:chat:${place}`);
    this.news.onmessage = ({ data }: MessageEvent<News>) => {
      if (data === "restarted") void this.begin();
      else this.stream.start();
    };
  }

  /** Begin the visit, or continue it; tries until the server answers. */
  async begin(): Promise<void> {
    for (let pause = 500; ; pause = Math.min(pause * 2, 10_000)) {
      try {
        this.show(await calls.begin());
        return;
      } catch (error) {
        if (error instanceof Refusal && !error.passes) {
          this.closed.value = words.nothing;
          return;
        }
        this.link.value = "lost";
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
  }

  say(text: string, files: FileRef[] = []): void {
    this.send({ ...(text && { text }), ...(files.length > 0 && { files }) });
  }

  /** Say something; returns its id. */
  send(content: Omit<Message, "id">): void {
    this.outbox.add({ id: newId(), ...content });
  }

  async restart(): Promise<void> {
    const visit = await calls.restart();
    this.outbox.clear();
    this.uploads.clear();
    this.show(visit);
    this.news.postMessage("restarted" satisfies News);
  }

  async loadEarlier(): Promise<void> {
    const first = this.lines.value[0]?.number ?? 1;
    const { items, more } = await calls.earlier(first);
    batch(() => {
      this.hasEarlier.value = more;
      this.merge(items);
    });
  }

  private show(visit: Visit): void {
    batch(() => {
      if (visit.conversation !== this.number) {
        this.stream.stop();
        this.lines.value = [];
        this.setDraft(null);
      }
      this.number = visit.conversation;
      this.takes.value = visit.files;
      this.hasEarlier.value = visit.more;
      this.standing.value = visit.standing;
      this.link.value = "live";
      this.merge(visit.lines);
      this.ready.value = true;
    });
    this.outbox.load();
    // A session exists after its first message.
    if (visit.lines.length || visit.standing.state !== "idle") this.stream.start();
  }

  private linked(link: Link): void {
    // A blink is not worth a word: most connections are back at once.
    if (link === "live") this.link.value = link;
    else setTimeout(() => this.stream.isLive || (this.link.value = "lost"), 600);
  }

  private refused(refusal: Refusal): void {
    if (refusal.code === "session_not_found") {
      // It was erased, or has not begun.
      this.lines.value = [];
      this.setDraft(null);
      this.link.value = "live";
    } else if (refusal.status === 401) void this.begin();
    else this.closed.value = words.closed;
  }

  private happened({ event, data }: ServerEvent): void {
    if (event === "line") this.merge([JSON.parse(data) as Line]);
    else if (event === "part") this.write(JSON.parse(data) as Part);
    else if (event === "standing") this.standing.value = JSON.parse(data) as Standing;
  }

  private merge(found: Line[]): void {
    if (!found.length) return;
    batch(() => {
      const lines = this.lines.value;
      const last = lines.at(-1)?.number ?? 0;
      if (found[0]!.number > last) this.lines.value = [...lines, ...found];
      else {
        const known = new Map(lines.map((line) => [line.number, line]));
        for (const line of found) if (!known.has(line.number)) known.set(line.number, line);
        this.lines.value = [...known.values()].sort((a, b) => a.number - b.number);
      }
      const draft = this.next ?? this.draft.value;
      if (draft && draft.number <= found.at(-1)!.number) this.setDraft(null);
      this.outbox.arrived(new Set(found.flatMap((line) => (line.id === null ? [] : [line.id]))));
    });
  }

  /** Add a part of a reply. Offsets count characters, not units of UTF-16. */
  private write(part: Part): void {
    if (part.number <= (this.lines.value.at(-1)?.number ?? 0)) return;
    const current = this.next ?? this.draft.value;
    const known = current?.number === part.number ? current.text : "";
    if (!known) this.length = 0;
    // This tab has joined in the middle: the whole is about to arrive.
    if (part.start > this.length) return;
    // A part that begins earlier replaces what follows: the reply is written again after a crash.
    const kept = part.start >= this.length ? known : Array.from(known).slice(0, part.start).join("");
    const added = Array.from(part.text).length;
    this.length = Math.min(part.start, this.length) + added;
    this.next = { number: part.number, text: kept + part.text, markdown: part.markdown };
    // Parts come by the hundred; one drawing a frame is enough.
    this.frame ||= requestAnimationFrame(() => this.flush());
  }

  private draftSoFar(): ServerEvent | null {
    const draft = this.next ?? this.draft.value;
    return draft && { event: "part", data: JSON.stringify({ ...draft, start: 0 } satisfies Part) };
  }

  private flush(): void {
    this.frame = 0;
    if (this.next) this.draft.value = this.next;
    this.next = null;
  }

  private setDraft(draft: Draft | null): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.next = null;
    this.length = 0;
    this.draft.value = draft;
  }
}

function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
