// Short notices about what was done.

import { signal } from "@preact/signals";

export interface Toast {
  id: number;
  text: string;
  tone: "good" | "danger" | "plain";
}

const SHOWN_MS = 5_000;
export const toasts = signal<Toast[]>([]);
let next = 1;

export function tell(text: string, tone: Toast["tone"] = "plain"): void {
  const toast = { id: next++, text, tone };
  toasts.value = [...toasts.value.slice(-3), toast];
  setTimeout(() => dismiss(toast.id), SHOWN_MS);
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}
