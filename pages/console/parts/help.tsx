// The sheet of keys. A visible button opens it too.

import { signal } from "@preact/signals";
import type { VNode } from "preact";

import { singleKeys } from "../lib/choices";
import { bindings } from "../lib/keys";
import { Dialog } from "./dialog";

export const isHelpOpen = signal(false);

export function Help(): VNode | null {
  if (!isHelpOpen.value) return null;
  const seen = new Map(bindings().map((binding) => [binding.keys, binding]));
  return (
    <Dialog title="Keys" close={() => (isHelpOpen.value = false)} class="help">
      <div class="help-keys">
        {[...seen.values()].map((binding) => (
          <div key={binding.keys}>
            <span>{binding.about}</span>
            <span>{binding.keys.split(" ").map((key) => <kbd key={key}>{key}</kbd>)}</span>
          </div>
        ))}
      </div>
      <label class="field check">
        <input type="checkbox" checked={singleKeys.value} onChange={(event) => (singleKeys.value = event.currentTarget.checked)} />
        <span>Single keys do something (Ctrl+K always works)</span>
      </label>
      <p class="hint">
        The console calls the public HTTP API and nothing else: whatever it does, <code>curl</code> and <code>holdfast</code> can do.
      </p>
    </Dialog>
  );
}
