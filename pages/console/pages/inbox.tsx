// Inbox: what waits for a person's answer, and the form that answers it.

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { Json, JsonObject } from "../../chat/types";
import type { InboxView } from "../api/schemas";
import { quoted } from "../lib/action";
import { go, here, param, to } from "../lib/address";
import { call, Problem } from "../lib/call";
import { parse } from "../lib/exact";
import { useKeys } from "../lib/keys";
import { of, useLoad } from "../lib/load";
import { reloadAll } from "../lib/live";
import { me, may, scope, seesPayloads } from "../lib/session";
import { soft } from "../lib/soft";
import { tell } from "../lib/toasts";
import { now } from "../lib/time";
import { middle } from "../lib/words";
import { Card, Commands, Facts, Id, Tabs, Time } from "../parts/basics";
import { Form } from "../parts/form";
import { Head } from "../parts/head";
import { Icon } from "../parts/icon";
import { Value } from "../parts/json";
import { Empty, Refused, Show } from "../parts/show";
import { Tag } from "../parts/state";

const SOON_MS = 86_400_000;

export function Inbox(): VNode {
  const points = useLoad((signal) => call("GET /v1/waitpoints", { query: { tenant: scope.value, limit: 500 }, signal }), [scope.value], { when: of("waitpoint", "execution") });
  return (
    <>
      <Head title="Inbox" sub="Questions that runs ask people. A run that waits for an answer holds no worker." />
      <Show
        of={points}
        empty={(data) =>
          data.items.length ? null : (
            <Empty icon="inbox" title="Nobody has to answer anything">
              When a task waits for an approval or an answer, the question appears here.
            </Empty>
          )
        }
      >
        {(data) => <Desk points={sorted(data.items)} />}
      </Show>
    </>
  );
}

/** The nearest deadline first. */
function sorted(points: InboxView[]): InboxView[] {
  const end = (point: InboxView): number => Date.parse(point.until ?? point.expires_at ?? "9999-01-01");
  return [...points].sort((one, other) => end(one) - end(other));
}

function Desk({ points }: { points: InboxView[] }): VNode {
  const at = Math.max(0, points.findIndex((point) => point.id === param("id")));
  const open = (index: number): void => {
    const point = points[Math.max(0, Math.min(points.length - 1, index))];
    if (point) go(here({ id: point.id }), { replace: true });
  };
  useKeys([
    { keys: "j", about: "Next question", run: () => open(at + 1) },
    { keys: "k", about: "Previous question", run: () => open(at - 1) },
    { keys: "e", about: "Fill in the answer", run: () => (document.querySelector(".answer input, .answer textarea, .answer select") as HTMLElement | null)?.focus() },
  ]);
  const chosen = points[at]!;
  return (
    <div class="desk">
      <ul class="card desk-list" aria-label="Questions">
        {points.map((point, index) => (
          <li key={point.id}>
            <a href={here({ id: point.id })} aria-current={index === at ? "true" : undefined} class="desk-item">
              <b class="clip">{point.title || point.name}</b>
              <span class="desk-sub">
                <span class="clip">{point.kind}</span>
                <Deadline point={point} />
              </span>
            </a>
          </li>
        ))}
      </ul>
      <Question key={chosen.id} point={chosen} next={() => open(at === points.length - 1 ? at - 1 : at + 1)} />
    </div>
  );
}

function Deadline({ point }: { point: InboxView }): VNode {
  const end = point.until ?? point.expires_at;
  if (!end) return <span class="faint">no deadline</span>;
  const isSoon = Date.parse(end) - now.value < SOON_MS;
  return (
    <span class={isSoon ? "tone-danger toned" : "faint"}>
      {isSoon ? "due " : ""}
      <Time at={end} />
    </span>
  );
}

function Question({ point, next }: { point: InboxView; next(): void }): VNode {
  const summary = useLoad(
    async (signal) => {
      const path = { id: point.execution };
      const query = { tenant: scope.value };
      const [document, steps] = await Promise.all([soft(call("GET /v1/executions/{id}/summary", { path, query, signal })), soft(call("GET /v1/executions/{id}/steps", { path, query: { ...query, limit: 50 }, signal }))]);
      return { document: document?.document ?? {}, steps: (steps?.items ?? []).slice(-5) };
    },
    [point.id],
  );
  return (
    <div class="column">
      <Card title={point.title || point.name} extra={point.escalated ? <Tag tone="warn">escalated</Tag> : undefined}>
        <div class="pad stack">
          <Facts
            rows={[
              ["Run", <Id id={point.execution} href={to(["runs", point.execution])} copy />],
              ["Task", point.kind],
              ["Tenant", point.tenant],
              ["Asked", <Time at={point.created_at} />],
              ["Until", <Deadline point={point} />],
              point.wanted !== null && ["Answers", `${point.came.length} of ${point.wanted}${point.came.length ? `, by ${point.came.join(", ")}` : ""}`],
              point.answerers.length > 0 && ["May answer", point.answerers.join(", ")],
            ]}
          />
          {summary.data && Object.keys(summary.data.document).length > 0 && (
            <details open>
              <summary>Summary of the run</summary>
              <Value value={summary.data.document} />
            </details>
          )}
          {seesPayloads() && summary.data && summary.data.steps.length > 0 && (
            <details>
              <summary>What it did last</summary>
              {summary.data.steps.map((step) => (
                <div key={step.name} class="pair">
                  <b>{step.name}</b>
                  <Value value={step.result} />
                </div>
              ))}
            </details>
          )}
        </div>
      </Card>
      <Answer point={point} next={next} />
    </div>
  );
}

/** The answer: the fields of the schema, or approve and deny, or JSON. */
function Answer({ point, next }: { point: InboxView; next(): void }): VNode {
  const [who, setWho] = useState(me.value?.name ?? me.value?.key ?? "operator");
  const [comment, setComment] = useState("");
  const [json, setJson] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [armed, setArmed] = useState<string | null>(null);
  const schema = point.schema as JsonObject | null;
  const hasFields = !!schema && typeof schema === "object" && Object.keys((schema.properties ?? {}) as object).length > 0;
  const names = point.signals.length ? point.signals : ["approve", "deny"];
  const isAllowed = may("operator") || may("worker");
  const answer = async (name: string, payload: Json | string): Promise<void> => {
    try {
      const { token } = await call("GET /v1/executions/{id}/waitpoints/{wp}/token", { path: { id: point.execution, wp: point.id }, query: { tenant: scope.value, ...(point.personal ? { person: who } : {}) } as never });
      const { effect } = await call("POST /v1/signals/{waitpoint}", { path: { waitpoint: point.id }, body: { token, name, payload: payload as Json, source: { type: "user", identity: who } } });
      tell(effect === "duplicate" ? `${who} has answered already.` : `Answered: ${name}.`, "good");
      setProblem(null);
      next();
      reloadAll();
    } catch (error) {
      setProblem(error instanceof Problem ? error : new Problem(0, "page_failed", String(error), ""));
    }
    setArmed(null);
  };
  const decide = (name: string): void => {
    const given = json.trim();
    if (given && !parse(given)) return setProblem(new Problem(0, "not_json", "The answer is not JSON.", ""));
    void answer(name, given ? (JSON.parse(given) as Json) : { approved: name === "approve", ...(comment ? { comment } : {}) });
  };
  useKeys(
    hasFields
      ? []
      : [
          { keys: "a", about: "Approve (Enter confirms)", run: () => setArmed("approve") },
          { keys: "d", about: "Deny (Enter confirms)", run: () => setArmed("deny") },
          { keys: "Enter", about: "Confirm", run: () => armed && decide(armed) },
          { keys: "Escape", about: "Back", run: () => setArmed(null) },
        ],
  );
  const isJson = param("as") === "json";
  useEffect(() => setProblem(null), [isJson]);
  return (
    <Card title="Answer">
      <div class="pad stack answer">
        {!isAllowed && <p class="problem">Answering here needs the role operator.</p>}
        {point.answerers.length > 0 ? (
          <label class="field">
            <span>Answer as</span>
            <select value={who} onChange={(event) => setWho(event.currentTarget.value)}>
              {[...new Set([who, ...point.answerers])].map((name) => <option key={name}>{name}</option>)}
            </select>
          </label>
        ) : (
          <label class="field">
            <span>Answer as</span>
            <input value={who} onInput={(event) => setWho(event.currentTarget.value)} />
          </label>
        )}
        {hasFields && <Tabs name="as" tabs={[{ id: "form", label: "Form" }, { id: "json", label: "JSON" }]} />}
        {hasFields && !isJson ? (
          <Form schema={schema!} verb="Send" isAllowed={isAllowed} problem={problem} send={(data) => void answer(names[0]!, data)} />
        ) : (
          <>
            {!hasFields && (
              <label class="field">
                <span>Comment</span>
                <input value={comment} onInput={(event) => setComment(event.currentTarget.value)} />
              </label>
            )}
            {hasFields && (
              <div class="json-answer">
                <label class="field">
                  <span>Answer in JSON</span>
                  <textarea class="mono" rows={6} value={json} onInput={(event) => setJson(event.currentTarget.value)} spellcheck={false} />
                </label>
                {schema && (
                  <details open>
                    <summary>Schema</summary>
                    <Value value={schema} />
                  </details>
                )}
              </div>
            )}
            {armed && <p role="status" class="tone-warn toned">Press Enter to {armed}, Esc to go back.</p>}
            <div class="buttons">
              {names.map((name) => (
                <button key={name} type="button" class={`button ${name === "deny" ? "danger" : name === names[0] ? "primary" : ""} ${armed === name ? "armed" : ""}`} disabled={!isAllowed} onClick={() => decide(name)}>
                  <Icon name={name === "deny" ? "cross" : "check"} /> {name[0]!.toUpperCase() + name.slice(1)}
                </button>
              ))}
            </div>
          </>
        )}
        <Refused problem={problem} />
        <Commands texts={[`holdfast signal ${quoted(point.id)} approve --payload '{"approved": true}' --as ${quoted(who)}`]}>
          <p class="hint">People without access answer at a link: <code>holdfast waitpoints token {middle(point.id, 30)}</code>.</p>
        </Commands>
      </div>
    </Card>
  );
}
