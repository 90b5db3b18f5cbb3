// The live connection: one for each visible tab, which continues where it was cut off.

import { openEvents, readEvents, Refusal, type ServerEvent } from "./calls";

const PAUSES_MS = [250, 1_000, 2_000, 5_000, 10_000];
/** The server writes at least every 15 s; a connection that is silent for longer is dead. */
const SILENCE_MS = 40_000;
/** Browsers allow six connections to an origin, so a hidden tab gives its own back. */
const HIDDEN_MS = 5_000;

export type Link = "connecting" | "live" | "lost";

export interface Listener {
  /** The number of the last line that is known. */
  after(): number;
  event(event: ServerEvent): void;
  link(link: Link): void;
  /** The visit has expired, or the session is not there. */
  refused(refusal: Refusal): void;
}

export class Stream {
  /** What is to be read; null while nothing is. A new one takes the place of the last. */
  private reading: AbortController | null = null;
  private connection: AbortController | null = null;
  private live = false;
  private failures = 0;
  private wake: (() => void) | null = null;
  private hiding: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly listener: Listener) {
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
    void this.run(this.reading.signal);
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

  private async run(stopped: AbortSignal): Promise<void> {
    while (!stopped.aborted) {
      // A tab that was never shown, such as one of a restored window, does not connect at all.
      const isHidden = document.visibilityState === "hidden";
      if (!isHidden) await this.connect(stopped);
      if (!stopped.aborted) await this.pause(isHidden);
    }
  }

  private async connect(stopped: AbortSignal): Promise<void> {
    const connection = new AbortController();
    this.connection = connection;
    let watch = setTimeout(() => connection.abort(), SILENCE_MS);
    const heard = (): void => {
      clearTimeout(watch);
      watch = setTimeout(() => connection.abort(), SILENCE_MS);
    };
    try {
      const response = await openEvents(this.listener.after(), connection.signal);
      this.failures = 0;
      this.live = true;
      this.listener.link("live");
      for await (const event of readEvents(response, heard)) {
        if (stopped.aborted) return;
        this.listener.event(event);
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
        this.live = false;
        this.listener.link("lost");
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
