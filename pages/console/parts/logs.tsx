// What a run logged and streamed.

import type { VNode } from "preact";

import { here, param } from "../lib/address";
import { call } from "../lib/call";
import { useLoad } from "../lib/load";
import { scope } from "../lib/session";
import { clock, exact } from "../lib/time";
import { Value } from "./json";
import { Show } from "./show";

const LEVELS = ["debug", "info", "warning", "error"];

export function Logs({ id }: { id: string }): VNode {
  const level = param("level");
  const logs = useLoad((signal) => call("GET /v1/executions/{id}/logs", { path: { id }, query: { tenant: scope.value, limit: 500, ...(level ? { level } : {}) } as never, signal }), [id, level], { when: (change) => change.data.execution === id, every: 5_000 });
  return (
    <>
      <nav class="strip" aria-label="Level">
        {["", ...LEVELS].map((one) => (
          <a key={one} href={here({ level: one || null })} aria-current={one === level ? "true" : undefined}>{one || "all"}</a>
        ))}
      </nav>
      <Show of={logs} rows={4} empty={(data) => (data.items.length ? null : <p class="pad faint">Nothing was logged{level ? ` at level ${level}` : ""}.</p>)}>
        {(data) => (
          <ol class="logs">
            {data.items.map((line) => (
              <li key={line.id} class={`log-${line.level.toLowerCase()}`}>
                <time datetime={line.at} title={exact(line.at)}>{clock(line.at, true)}</time>
                <b>{line.level.toLowerCase()}</b>
                <span>
                  {line.message}
                  {Object.keys(line.fields).length > 0 && <span class="faint"> {JSON.stringify(line.fields)}</span>}
                  {line.traceback && (
                    <details>
                      <summary>Traceback</summary>
                      <pre>{line.traceback}</pre>
                    </details>
                  )}
                </span>
              </li>
            ))}
          </ol>
        )}
      </Show>
    </>
  );
}

export function Frames({ id }: { id: string }): VNode {
  const frames = useLoad((signal) => call("GET /v1/executions/{id}/stream", { path: { id }, query: { tenant: scope.value, limit: 200 }, signal }), [id], { every: 3_000 });
  return (
    <Show of={frames} rows={4} empty={(data) => (data.items.length ? null : <p class="pad faint">Nothing was streamed.</p>)}>
      {(data) => (
        <ol class="logs">
          {data.items.map((frame) => (
            <li key={frame.id}>
              <time datetime={frame.at} title={exact(frame.at)}>{clock(frame.at, true)}</time>
              <b>{frame.type}</b>
              {typeof frame.payload === "string" ? <span>{frame.payload}</span> : <Value value={frame.payload} />}
            </li>
          ))}
        </ol>
      )}
    </Show>
  );
}
