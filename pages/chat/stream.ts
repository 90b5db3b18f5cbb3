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
  private running: AbortController | null = null;
  private wanted = false;
  private live = false;
  private failures = 0;
  private wake: (() => void) | null = null;
  private hiding: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly listener: Listener) {
    document.addEventListener("visibilitychange", () => this.visibilityChanged());
    addEventListener("online", () => this.hurry());
    addEventListener("offline", () => this.running?.abort());
    addEventListener("pageshow", () => this.hurry());
  }

  get isLive(): boolean {
    return this.live;
  }

  get isWanted(): boolean {
    return this.wanted;
  }

  start(): void {
    if (this.wanted) return;
    this.wanted = true;
    void this.run();
  }

  stop(): void {
    this.wanted = false;
    this.running?.abort();
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
    else this.hiding = setTimeout(() => this.running?.abort(), HIDDEN_MS);
  }

  private async run(): Promise<void> {
    while (this.wanted) {
      const isHidden = document.visibilityState === "hidden" && this.failures > 0;
      if (!isHidden) await this.connect();
      if (this.wanted) await this.pause(isHidden);
    }
  }

  private async connect(): Promise<void> {
    const running = new AbortController();
    this.running = running;
    let watch = setTimeout(() => running.abort(), SILENCE_MS);
    const heard = (): void => {
      clearTimeout(watch);
      watch = setTimeout(() => running.abort(), SILENCE_MS);
    };
    try {
      const response = await openEvents(this.listener.after(), running.signal);
      this.failures = 0;
      this.live = true;
      this.listener.link("live");
      for await (const event of readEvents(response, heard)) this.listener.event(event);
    } catch (error) {
      if (error instanceof Refusal && !error.passes) {
        this.wanted = false;
        this.listener.refused(error);
      }
    } finally {
      this.live = false;
      clearTimeout(watch);
      running.abort();
      if (this.wanted) this.listener.link("lost");
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
