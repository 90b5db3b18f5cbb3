// Files on their way: uploaded while the visitor still writes, and named by the next message.

import { computed, signal } from "@preact/signals";

import { Refusal, upload } from "./calls";
import type { FileRef, Takes } from "./types";
import { phrase, words } from "./words";

export interface Upload {
  key: number;
  name: string;
  size: number;
  /** The part that the server has, from 0 to 1. */
  done: number;
  file?: FileRef;
  problem?: string;
}

export class Uploads {
  readonly items = signal<Upload[]>([]);
  /** Why nothing was added. */
  readonly notice = signal("");
  readonly isBusy = computed(() => this.items.value.some((item) => !item.file && !item.problem));
  readonly ready = computed(() => this.items.value.flatMap((item) => item.file ?? []));
  private readonly stops = new Map<number, AbortController>();
  private last = 0;

  constructor(readonly takes: () => Takes | null) {}

  add(files: Iterable<File>): void {
    const takes = this.takes();
    if (!takes) return;
    this.notice.value = "";
    for (const file of files) {
      if (this.items.value.length >= takes.most_files) {
        this.notice.value = phrase(words.tooMany, takes.most_files);
        return;
      }
      void this.send(file, takes);
    }
  }

  /** Forget a file, or stop its upload. */
  remove(key: number): void {
    this.stops.get(key)?.abort();
    this.notice.value = "";
    this.items.value = this.items.value.filter((item) => item.key !== key);
  }

  /** Hand over what is uploaded. */
  take(): FileRef[] {
    const files = this.ready.value;
    this.items.value = this.items.value.filter((item) => !item.file);
    this.notice.value = "";
    return files;
  }

  clear(): void {
    for (const { key } of this.items.value) this.remove(key);
  }

  private async send(file: File, takes: Takes): Promise<void> {
    const key = ++this.last;
    const problem = problemOf(file, takes);
    this.items.value = [...this.items.value, { key, name: file.name, size: file.size, done: 0, ...(problem && { problem }) }];
    if (problem) return;
    const stop = new AbortController();
    this.stops.set(key, stop);
    try {
      const known = await upload(file, stop.signal, (done) => this.change(key, { done }));
      this.change(key, { done: 1, file: known });
    } catch (error) {
      if (!stop.signal.aborted) this.change(key, { problem: reasonOf(error, takes) });
    }
    this.stops.delete(key);
  }

  private change(key: number, change: Partial<Upload>): void {
    this.items.value = this.items.value.map((item) => (item.key === key ? { ...item, ...change } : item));
  }
}

function problemOf(file: File, takes: Takes): string {
  const name = file.name.toLowerCase();
  if (!takes.extensions.some((ending) => name.endsWith(ending))) return words.wrongKind;
  return file.size > takes.most_bytes ? tooBig(takes) : "";
}

function reasonOf(error: unknown, takes: Takes): string {
  switch (error instanceof Refusal ? error.code : "") {
    case "too_large":
      return tooBig(takes);
    case "file_refused":
      return words.wrongKind;
    case "files_full":
      return words.filesFull;
    default:
      return words.failed;
  }
}

const tooBig = (takes: Takes): string => phrase(words.tooBig, sizeOf(takes.most_bytes));

const UNITS = ["byte", "kilobyte", "megabyte"] as const;

export function sizeOf(bytes: number): string {
  const power = bytes < 1000 ? 0 : bytes < 1_000_000 ? 1 : 2;
  const format = { style: "unit", unit: UNITS[power]!, unitDisplay: "short", maximumFractionDigits: power ? 1 : 0 } as const;
  return new Intl.NumberFormat(document.documentElement.lang || undefined, format).format(bytes / 1000 ** power);
}
