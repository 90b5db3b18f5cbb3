// A session: the transcript, where the conversation is, and what it remembers.

import type { TargetedSubmitEvent, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import type { MomentView, SessionDetail, SessionsEntryView } from "../api/schemas";
import { option, quoted, REASON, type Action } from "../lib/action";
import { go, here, param, to } from "../lib/address";
import { call, Problem } from "../lib/call";
import { useLoad } from "../lib/load";
import { reloadAll } from "../lib/live";
import { me, may, scope, seesPayloads } from "../lib/session";
import { soft } from "../lib/soft";
import { exact, short } from "../lib/time";
import { Button, Card, Facts, Id, Time } from "../parts/basics";
import { FlowPicture } from "../parts/flow";
import { Head } from "../parts/head";
import { Icon } from "../parts/icon";
import { Value } from "../parts/json";
import { seen } from "../parts/palette";
import { Buttons, Rehearse } from "../parts/rehearse";
import { Empty, Show } from "../parts/show";
import { Tag } from "../parts/state";
import { Standing } from "./sessions";

interface Facts_ {
  session: SessionDetail;
  lines: SessionsEntryView[];
  memory: { name: string; version: number; value: unknown }[];
  why: string;
}

export function Session({ id }: { id: string }): VNode {
  const path = { id };
  const query = { tenant: scope.value };
  const found = useLoad<Facts_>(
    async (signal) => {
      const session = await call("GET /v1/sessions/{id}", { path, query, signal });
      const [lines, memory, explain] = await Promise.all([
        call("GET /v1/sessions/{id}/transcript", { path, query: { ...query, limit: 500 }, signal }),
        soft(call("GET /v1/sessions/{id}/state", { path, query, signal })),
        session.execution ? soft(call("GET /v1/executions/{id}/explain", { path: { id: session.execution }, query, signal })) : null,
      ]);
      return { session, lines: lines.items, memory: memory?.items ?? [], why: explain?.why ?? "" };
    },
    [id, scope.value],
    { when: (change) => change.data.id === id || change.type === "execution" },
  );
  useEffect(() => seen(`Session ${id}`, to(["sessions", id])), [id]);
  return <Show of={found}>{(data) => <Found facts={data} />}</Show>;
}

function Found({ facts: { session, lines, memory, why } }: { facts: Facts_ }): VNode {
  // A line of the transcript that is chosen: what is shown beside it is that moment's.
  const at = param("line") ? Number(param("line")) : null;
  const line = lines.find((one) => one.number === at);
  const last = lines.at(-1)?.number ?? 0;
  const recorded = useLoad((signal) => soft(call("GET /v1/sessions/{id}/moment", { path: { id: session.id }, query: { tenant: scope.value, ...(at ? { line: at } : {}) } as never, signal })), [session.id, at, last]);
  const kept = useRef<MomentView | null>(null);
  kept.current = recorded.data ?? kept.current;
  const [forked, setForked] = useState<MomentView | null>(null);
  const moment = forked ?? kept.current;
  return (
    <>
      <Head
        up={{ label: "Sessions", page: "sessions" }}
        title={session.user}
        sub={
          <span class="head-facts">
            <Standing session={session} />
            <Id id={session.id} most={40} copy />
            <span>active <Time at={session.active_at} /></span>
          </span>
        }
      >
        {sessionActions(session).map((action) => <Button key={action.verb} action={action} />)}
      </Head>
      <div class="session-grid">
        <Card title="Transcript" class="transcript">
          <Scrub last={last} at={at} />
          <Transcript lines={lines} chosen={at} />
          <Composer session={session} />
        </Card>
        <div class="column">
          <FlowPicture session={session} moment={moment} />
          {moment && <Variables moment={moment} isForked={forked !== null} />}
          {moment && seesPayloads() && <Rehearse session={session} line={at ?? last} show={setForked} />}
          <Card title="Now">
            <div class="pad stack">
              {why && <p>{why}</p>}
              <Facts
                rows={[
                  ["Conversation", session.kind],
                  !!moment?.at && ["Node", <code>{moment.at.node}</code>],
                  session.execution !== null && ["Run", <Id id={session.execution} href={to(["runs", session.execution])} />],
                  session.revision !== null && ["Revision", session.revision],
                  ["Channel", session.endpoint || "API"],
                  ["Environment", session.env],
                  ["Tenant", session.tenant],
                  ["Turn", session.turn],
                  session.buffered > 0 && ["Messages that wait", session.buffered],
                  session.person !== null && ["Person", `${session.person}${session.handover_reason ? `: ${session.handover_reason}` : ""}`],
                  ["Started", <Time at={session.created_at} />],
                ]}
              />
            </div>
          </Card>
          {line && (
            <Card title={`Line ${line.number}`} extra={<a class="link" href={here({ line: null })}>Back to now</a>}>
              <div class="pad stack">
                <Facts
                  rows={[
                    ["At", exact(line.at)],
                    line.turn !== null && ["Turn", line.turn],
                    line.execution !== null && ["Run", <Id id={line.execution} href={to(["runs", line.execution])} />],
                    line.delivery !== null && ["Delivery", line.delivery],
                    line.author !== null && ["Author", line.author],
                  ]}
                />
                {seesPayloads() && <Value value={line.payload} />}
              </div>
            </Card>
          )}
          <Card title="Memory">
            <div class="pad stack">
              {memory.length ? (
                memory.map((one) => (
                  <div class="pair-top" key={one.name}>
                    <b>{one.name}</b>
                    {seesPayloads() ? <Value value={one.value} /> : <span class="faint">hidden</span>}
                  </div>
                ))
              ) : <span class="faint">It keeps nothing beyond this conversation.</span>}
            </div>
          </Card>
        </div>
      </div>
    </>
  );
}

/** Move through the conversation: the flow and the variables follow. */
function Scrub({ last, at }: { last: number; at: number | null }): VNode | null {
  const move = (line: number): void => go(here({ line: line < last ? String(line) : null }), { replace: true });
  if (last < 2) return null;
  return (
    <label class="scrub">
      <span class="num">Line {at ?? last} of {last}</span>
      <input type="range" min={1} max={last} value={at ?? last} aria-valuetext={`Line ${at ?? last}`} onInput={(event) => move(Number(event.currentTarget.value))} />
    </label>
  );
}

function Variables({ moment, isForked }: { moment: MomentView; isForked: boolean }): VNode {
  const names = Object.keys(moment.vars);
  return (
    <Card title={isForked ? "Variables in the simulator" : moment.line ? `Variables after line ${moment.line}` : "Variables"}>
      <div class="pad stack">
        {names.map((name) => (
          <div class="pair-top" key={name}>
            <span>
              <b>{name}</b> {moment.changed.includes(name) && <Tag tone="accent">changed</Tag>}
            </span>
            {seesPayloads() ? <Value value={moment.vars[name]} /> : <span class="faint">hidden</span>}
          </div>
        ))}
        {!names.length && <span class="faint">The flow has set none.</span>}
      </div>
    </Card>
  );
}

function Transcript({ lines, chosen }: { lines: SessionsEntryView[]; chosen: number | null }): VNode {
  const box = useRef<HTMLOListElement>(null);
  useEffect(() => {
    // Follow only if the end is visible: nobody is pulled away from what they read.
    const element = box.current;
    if (element && chosen === null && element.scrollHeight - element.scrollTop - element.clientHeight < 200) element.scrollTop = element.scrollHeight;
  }, [lines.length]);
  if (!lines.length) return <Empty icon="session" title="Nothing was said yet" />;
  return (
    <ol class="talk" ref={box} aria-label="Transcript" tabIndex={0}>
      {lines.map((line) => (
        <li key={line.number} class={`talk-${line.direction} ${line.number === chosen ? "chosen" : ""}`}>
          <a href={here({ line: line.number === chosen ? null : String(line.number) })} class="bubble" aria-label={`Line ${line.number}, ${line.direction === "in" ? "from the user" : "reply"}`}>
            {line.author && <b class="small">{line.author}</b>}
            <span class="bubble-text">{line.text || textOf(line.payload)}</span>
            <Buttons payload={line.payload as Record<string, unknown>} />
          </a>
          <span class="talk-foot">
            <time datetime={line.at} title={exact(line.at)}>{short(line.at)}</time>
            {line.open && <Tag tone="accent">being written</Tag>}
            {line.delivery === "dead" && <Tag tone="danger">not delivered</Tag>}
            {line.delivery === "pending" && <Tag>sending</Tag>}
          </span>
        </li>
      ))}
    </ol>
  );
}

function textOf(payload: unknown): string {
  if (!seesPayloads()) return "hidden";
  return typeof payload === "string" ? payload : JSON.stringify(payload);
}

/** A person answers while the session is handed over. */
function Composer({ session }: { session: SessionDetail }): VNode | null {
  const [problem, setProblem] = useState("");
  if (session.state !== "person") return null;
  const send = async (event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const form = event.currentTarget;
    const text = String(new FormData(form).get("text") ?? "").trim();
    if (!text) return;
    try {
      await call("POST /v1/sessions/{id}/messages", { path: { id: session.id }, query: { tenant: scope.value }, body: { text, author: session.person ?? "operator", idempotency_key: crypto.randomUUID() } });
      form.reset();
      setProblem("");
      reloadAll();
    } catch (error) {
      setProblem(error instanceof Problem ? error.message : String(error));
    }
  };
  return (
    <form class="composer" onSubmit={send}>
      <input name="text" placeholder={`Answer as ${session.person}`} aria-label="Your message" autocomplete="off" disabled={!may("operator")} />
      <button type="submit" class="button primary" disabled={!may("operator")}>
        <Icon name="up" /> Send
      </button>
      {problem && <p class="problem">{problem}</p>}
    </form>
  );
}

function sessionActions(session: SessionDetail): Action[] {
  const path = { id: session.id };
  const id = quoted(session.id);
  const who = me.value?.name ?? me.value?.key ?? "operator";
  const handover: Action =
    session.state === "person"
      ? {
          title: `Give the session of ${session.user} back`,
          verb: "Give back",
          icon: "retry",
          about: "The conversation continues where it was.",
          target: "POST /v1/sessions/{id}/handover",
          path,
          fields: [REASON],
          body: ({ reason }) => ({ to: "flow", reason }),
          cli: ({ reason }) => `sessions handover ${id} --back${option("reason", reason)}`,
          role: "operator",
          done: () => "The conversation continues.",
        }
      : {
          title: `Take over the session of ${session.user}`,
          verb: "Take over",
          icon: "person",
          about: "Messages come to you; the conversation waits until you give it back.",
          target: "POST /v1/sessions/{id}/handover",
          path,
          fields: [{ name: "person", label: "Your name", kind: "text", initial: who }, REASON],
          body: ({ person, reason }) => ({ to: person, reason }),
          cli: ({ person, reason }) => `sessions handover ${id} ${quoted(person ?? "")}${option("reason", reason)}`,
          role: "operator",
          done: () => "You answer now.",
        };
  return [
    handover,
    {
      title: `End the conversation with ${session.user}`,
      verb: "End",
      icon: "slash",
      about: "Its run is cancelled. The next message starts a new conversation.",
      target: "POST /v1/sessions/{id}/end",
      path,
      fields: [REASON],
      body: ({ reason }) => ({ reason }),
      cli: ({ reason }) => `sessions end ${id}${option("reason", reason)}`,
      role: "operator",
      isDangerous: true,
      done: () => "The conversation has ended.",
    },
    {
      title: `Erase the session of ${session.user}`,
      verb: "Erase",
      icon: "trash",
      about: "The transcript and everything that the session keeps are deleted for good.",
      target: "DELETE /v1/sessions/{id}",
      path,
      cli: () => `sessions erase ${id} --yes`,
      role: "operator",
      isDangerous: true,
      typed: session.user,
      done: () => "Erased.",
      after: () => go(to(["sessions"])),
    },
  ];
}
