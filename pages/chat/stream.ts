// The live connection: one for each browser, which continues where it was cut off.
//
// Browsers allow six connections to a server. The tab that holds a lock reads, and the others hear
// from it; when it is closed or hidden, another takes its place.

import { openEvents, readEvents, Refusal, type ServerEvent } from "./calls";

const PAUSES_MS = [250, 1_000, 2_000, 5_000, 10_000];
/** The server writes at least every 15 s; a connection that is silent for longer is dead. */
const SILENCE_MS = 40_000;
/** A tab that is hidden for longer gives its connection back. */
const HIDDEN_MS = 5_000;

export type Link = "connecting" | "live" | "lost";

export interface Listener {
  /** The number of the last line that is known. */
  after(): number;
  event(event: ServerEvent): void;
  link(link: Link): void;
  /** Others read from now on, and what was missed has to be fetched. */
  behind(): void;
  /** The reply that is being written, as an event for a tab that joins. */
  draft(): ServerEvent | null;
  /** The visit has expired, or the session is not there. */
  refused(refusal: Refusal): void;
}

/** What tabs say to each other. */
type Word = ServerEvent | { link: Link } | { joins: true };

export class Stream {
  /** What is to be read; null while nothing is. A new one takes the place of the last. */
  private reading: AbortController | null = null;
  private connection: AbortController | null = null;
  private live = false;
  private failures = 0;
  private wake: (() => void) | null = null;
  private hiding: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly listener: Listener,
    /** The name of the lock; tabs that show the same conversation have the same. */
    private readonly name: () => string,
  ) {
    document.addEventListener("visibilitychange", () => this.visibilityChanged());
    addEventListener("online", () => this.hurry());
    addEventListener("offline", () => this.connection?.abort());
    addEventListener("pageshow", () => this.hurry());
  }

  get isLive(): boolean {
    return this.live;
  }

  get isWanted(): boolean {
    return this.reading !== null;
  }

  start(): void {
    if (this.reading) return;
    this.reading = new AbortController();
    this.failures = 0;
    void this.run(this.reading.signal, this.name());
  }

  stop(): void {
    this.reading?.abort();
    this.reading = null;
    this.connection?.abort();
    this.wake?.();
  }

  /** Try again now. */
  hurry(): void {
    this.failures = 0;
    this.wake?.();
  }

  private visibilityChanged(): void {
    clearTimeout(this.hiding);
    if (document.visibilityState === "visible") this.hurry();
    else this.hiding = setTimeout(() => this.connection?.abort(), HIDDEN_MS);
  }

  private async run(stopped: AbortSignal, name: string): Promise<void> {
    const others = new BroadcastChannel(name);
    while (!stopped.aborted) {
      // A tab that was never shown, such as one of a restored window, does not connect at all.
      if (!isHidden()) await this.take(stopped, name, others);
      if (!stopped.aborted) await this.pause(isHidden());
    }
    others.close();
  }

  /** Read, or hear from the tab that does until it is this one's turn. */
  private async take(stopped: AbortSignal, name: string, others: BroadcastChannel): Promise<void> {
    let isTaken: boolean;
    try {
      isTaken = await navigator.locks.request(name, { ifAvailable: true }, async (lock) => {
        if (lock) await this.connect(stopped, others);
        return !lock;
      });
    } catch {
      // Pages without TLS, and frames that may store nothing, have no locks: each tab reads for itself.
      return this.connect(stopped, others);
    }
    if (isTaken && !stopped.aborted) await this.hear(stopped, name, others);
  }

  private async hear(stopped: AbortSignal, name: string, others: BroadcastChannel): Promise<void> {
    const waiting = new AbortController();
    this.connection = waiting;
    others.onmessage = ({ data }: MessageEvent<Word>) => {
      if ("event" in data) this.listener.event(data);
      else if ("link" in data) this.linked(data.link);
    };
    this.linked("live");
    this.listener.behind();
    others.postMessage({ joins: true } satisfies Word);
    const signal = AbortSignal.any([stopped, waiting.signal]);
    try {
      await navigator.locks.request(name, { signal }, () => (isHidden() ? undefined : this.connect(stopped, others)));
    } catch {
      // This tab is hidden, offline, or shows another conversation.
      if (!stopped.aborted) this.linked("lost");
    } finally {
      others.onmessage = null;
    }
  }

  private linked(link: Link): void {
    this.live = link === "live";
    this.listener.link(link);
  }

  private async connect(stopped: AbortSignal, others: BroadcastChannel): Promise<void> {
    const connection = new AbortController();
    const tell = (word: Word): void => others.postMessage(word);
    others.onmessage = ({ data }: MessageEvent<Word>) => {
      const draft = "joins" in data ? this.listener.draft() : null;
      if (draft) tell(draft);
    };
    this.connection = connection;
    let watch = setTimeout(() => connection.abort(), SILENCE_MS);
    const heard = (): void => {
      clearTimeout(watch);
      watch = setTimeout(() => connection.abort(), SILENCE_MS);
    };
    try {
      const response = await openEvents(this.listener.after(), connection.signal);
      this.failures = 0;
      this.linked("live");
      tell({ link: "live" });
      for await (const event of readEvents(response, heard)) {
        if (stopped.aborted) return;
        this.listener.event(event);
        tell(event);
      }
    } catch (error) {
      if (!stopped.aborted && error instanceof Refusal && !error.passes) {
        this.stop();
        this.listener.refused(error);
      }
    } finally {
      clearTimeout(watch);
      connection.abort();
      if (!stopped.aborted) {
        this.linked("lost");
        tell({ link: "lost" });
      }
    }
    this.failures += 1;
  }

  private pause(untilVisible: boolean): Promise<void> {
    const ms = PAUSES_MS[Math.min(this.failures - 1, PAUSES_MS.length - 1)] ?? 0;
    return new Promise((resolve) => {
      const timer = untilVisible ? undefined : setTimeout(() => this.wake?.(), ms * (0.75 + Math.random() / 2));
      this.wake = () => {
        clearTimeout(timer);
        this.wake = null;
        resolve();
      };
    });
  }
}

function isHidden(): boolean {
  return document.visibilityState === "hidden";
}
