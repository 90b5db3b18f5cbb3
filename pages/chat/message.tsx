// Lines of the log: messages of the visitor, replies, and the reply that is being written.

import { Component, type ComponentChild, type VNode } from "preact";

import { Card } from "./card";
import type { Conversation, Draft } from "./conversation";
import { Files } from "./files";
import { Form } from "./form";
import { Icon } from "./icons";
import { Markdown, Plain } from "./markdown";
import type { Pending } from "./outbox";
import type { Line } from "./types";
import { words } from "./words";

const TIME = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

interface LineProps {
  line: Line;
  chat: Conversation;
  /** Whether the line before is of the same person. */
  follows: boolean;
  /** Whether the line says when it was written: the next one came later, or never. */
  timed: boolean;
  open: boolean;
  answer: Line["payload"] | undefined;
}

/** A line is drawn once, and again only when it is answered. */
export class LineView extends Component<LineProps> {
  override shouldComponentUpdate(next: LineProps): boolean {
    const names = ["line", "follows", "timed", "open", "answer"] as const;
    return names.some((name) => this.props[name] !== next[name]);
  }

  override render({ line, chat, follows, timed, open, answer }: LineProps): ComponentChild {
    const { payload, number, direction } = line;
    const text = payload.text ?? "";
    const isIn = direction === "in";
    const send = (data: Line["payload"]["data"], said: string): void =>
      chat.send({ data: data ?? null, text: said, reply: number });
    return (
      <li class={`line ${direction}${follows ? " follows" : ""}`}>
        <span class="hidden">{`${isIn ? words.you : (line.author ?? words.reply)}:`}</span>
        {!isIn && line.author && !follows && (
          <p class="author" aria-hidden="true">
            <Icon name="person" />
            {line.author}
          </p>
        )}
        {text && (
          <div class="bubble">
            {payload.markdown ? <Markdown text={text} /> : <Plain text={text} />}
          </div>
        )}
        {payload.files && <Files files={payload.files} />}
        {payload.card && <Card card={payload.card} open={open} sent={answer?.data} send={send} />}
        {payload.form && (
          <Form schema={payload.form} open={open} sent={answer?.data} before={chat.lastData.peek()} send={send} />
        )}
        {payload.buttons && <Buttons line={line} chat={chat} open={open} chosen={answer?.choice} />}
        {timed && (
          <time class="time" dateTime={line.at} dir="ltr">
            {TIME.format(new Date(line.at))}
          </time>
        )}
      </li>
    );
  }
}

interface ButtonsProps {
  line: Line;
  chat: Conversation;
  open: boolean;
  chosen: string | undefined;
}

/** Buttons stay after use, with the choice marked. */
function Buttons({ line, chat, open, chosen }: ButtonsProps): VNode {
  return (
    <div class="buttons" role="group" aria-label={words.answers}>
      {line.payload.buttons!.map(({ label, value }) => (
        <button
          key={value}
          type="button"
          class={`button${value === chosen ? " chosen" : ""}`}
          disabled={!open}
          aria-pressed={chosen === undefined ? undefined : value === chosen}
          onClick={() => chat.send({ text: label, choice: value, reply: line.number })}
        >
          {value === chosen && <Icon name="check" />}
          {label}
        </button>
      ))}
    </div>
  );
}

/** Hidden from screen readers, which announce the whole reply once it is there. */
export function DraftView({ draft, follows }: { draft: Draft; follows: boolean }): VNode {
  return (
    <li class={`line out draft${follows ? " follows" : ""}`} aria-hidden="true">
      <div class="bubble">
        {draft.markdown ? <Markdown text={draft.text} /> : <Plain text={draft.text} />}
      </div>
    </li>
  );
}

export function PendingView({ item, chat, follows }: { item: Pending; chat: Conversation; follows: boolean }): VNode {
  const { message, status } = item;
  return (
    <li class={`line in pending ${status}${follows ? " follows" : ""}`}>
      <span class="hidden">{words.you}:</span>
      {message.text && (
        <div class="bubble">
          <Plain text={message.text} />
        </div>
      )}
      {message.files && <Files files={message.files} />}
      <p class="time">
        <Icon name={status === "failed" ? "warning" : status === "sent" ? "check" : "clock"} />
        {item.problem ?? words[status]}
        {status === "failed" && (
          <>
            <button type="button" class="link" onClick={() => chat.outbox.retry(message.id)}>
              {words.again}
            </button>
            <button type="button" class="link" onClick={() => chat.outbox.drop(message.id)}>
              {words.remove}
            </button>
          </>
        )}
      </p>
    </li>
  );
}

export function Typing(): VNode {
  return (
    <li class="line out typing">
      <span class="hidden">{words.typing}</span>
      <div class="bubble" aria-hidden="true">
        <i />
        <i />
        <i />
      </div>
    </li>
  );
}
