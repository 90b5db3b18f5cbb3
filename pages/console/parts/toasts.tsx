// Notices in a corner, announced to screen readers.

import type { VNode } from "preact";

import { dismiss, toasts } from "../lib/toasts";
import { Icon } from "./icon";

export function Toasts(): VNode {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((toast) => (
        <div key={toast.id} class={`toast tone-${toast.tone}`}>
          <Icon name={toast.tone === "good" ? "check" : toast.tone === "danger" ? "cause" : "info"} />
          <span>{toast.text}</span>
          <button type="button" class="icon-button quiet" aria-label="Dismiss" onClick={() => dismiss(toast.id)}><Icon name="close" /></button>
        </div>
      ))}
    </div>
  );
}
