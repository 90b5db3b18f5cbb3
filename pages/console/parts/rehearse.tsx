// A fork of a session in the simulator: what would have followed. Nothing of it is real.

import type { TargetedSubmitEvent, VNode } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { MomentView, SessionDetail } from "../api/schemas";
import { call, Problem, type Reply } from "../lib/call";
import { save } from "../lib/files";
import { may, scope } from "../lib/session";
import { phrase } from "../lib/words";
import { Card } from "./basics";
import { Icon } from "./icon";
import { Tag } from "./state";

type Rehearsed = Reply<"POST /v1/sessions/{id}/rehearse">;
type Step = Record<string, string>;

interface Props {
  session: SessionDetail;
  line: number;
  /** Shows where the fork is; null: there is none. */
  show(moment: MomentView | null): void;
}

export function Rehearse({ session, line, show }: Props): VNode {
  const [steps, setSteps] = useState<Step[]>([]);
  const [found, setFound] = useState<Rehearsed | null>(null);
  const [problem, setProblem] = useState("");
  const rehearse = async (wanted: Step[]): Promise<Rehearsed | null> => {
    try {
      const reply = await call("POST /v1/sessions/{id}/rehearse", { path: { id: session.id }, query: { tenant: scope.value } as never, body: { line, steps: wanted, name: `session of ${session.user}` } });
      setProblem("");
      return reply;
    } catch (error) {
      setProblem(error instanceof Problem ? error.message : String(error));
      return null;
    }
  };
  const say = async (step: Step): Promise<void> => {
    const reply = await rehearse([...steps, step]);
    if (!reply) return;
    setSteps([...steps, step]);
    setFound(reply);
    show(reply.moment);
  };
  const clear = (): void => {
    setSteps([]);
    setFound(null);
    setProblem("");
    show(null);
  };
  useEffect(clear, [session.id, line]);
  const keep = async (): Promise<void> => {
    const reply = await rehearse(steps);
    if (reply) save(reply.test, "session.yaml");
  };
  const send = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget).get("text") ?? "").trim();
    event.currentTarget.reset();
    if (text) void say({ say: text });
  };
  const isAllowed = may("operator");
  return (
    <Card
      title={`Simulator, after line ${line}`}
      extra={
        <>
          {found && <button type="button" class="button slim" onClick={clear}>Start over</button>}
          <button type="button" class="button slim" disabled={!isAllowed} onClick={() => void keep()} title="The conversation up to here as a test, for holdfast pack test">
            <Icon name="download" /> Save as pack test
          </button>
        </>
      }
    >
      <p class="pad faint small">Say something else from here on. Calls get the answers that they got; nobody is called, and nothing is written.</p>
      {found && (
        <ol class="talk short" aria-label="Rehearsed">
          {found.happened.map((one, at) => (
            <li key={at} class={one.act ? "talk-in" : "talk-out"}>
              <span class="bubble">
                <span class="bubble-text">{one.act && !one.act.say ? Object.entries(one.act).map(([verb, what]) => `${verb} ${String(what)}`).join(", ") : String(one.payload.text ?? JSON.stringify(one.payload))}</span>
                <Buttons payload={one.payload} press={at === found.happened.length - 1 ? (value) => void say({ click: value }) : undefined} />
              </span>
            </li>
          ))}
          <li><Tag tone={found.status === "failed" ? "danger" : "plain"}>{phrase(found.status)}</Tag></li>
        </ol>
      )}
      {(problem || found?.problem) && <p class="problem pad">{problem || found?.problem}</p>}
      <form class="composer" onSubmit={send}>
        <input name="text" placeholder={`Say as ${session.user}`} aria-label="What the user says" autocomplete="off" disabled={!isAllowed} />
        <button type="submit" class="button" disabled={!isAllowed}>
          <Icon name="fork" /> Try
        </button>
      </form>
    </Card>
  );
}

/** Buttons as the user saw them; in a rehearsal they can be pressed. */
export function Buttons({ payload, press }: { payload: Record<string, unknown> | null; press?: ((value: string) => void) | undefined }): VNode | null {
  const buttons = payload?.buttons as { label: string; value: string }[] | undefined;
  if (!buttons?.length) return null;
  return (
    <span class="choices">
      {buttons.map((one) => (press ? <button key={one.value} type="button" class="button slim" onClick={() => press(one.value)}>{one.label}</button> : <span key={one.value} class="tag tone-accent">{one.label}</span>))}
    </span>
  );
}
