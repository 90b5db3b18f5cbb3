// The log: it follows the conversation only while its end is in view.

import type { VNode } from "preact";
import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import type { Conversation } from "./conversation";
import { Avatar, Icon } from "./icons";
import { DraftView, LineView, PendingView, Typing } from "./message";
import type { Settings } from "./settings";
import type { Line } from "./types";
import { phrase, words } from "./words";

/** This close to the end, a reader is at the end. */
const NEAR_PX = 48;
/** Lines within this time belong together. */
const TOGETHER_MS = 300_000;

export function Log({ chat, settings }: { chat: Conversation; settings: Settings }): VNode {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const seen = useSignal(0);
  const loading = useSignal(false);
  const unread = useComputed(
    () => chat.lines.value.filter((line) => line.direction === "out" && line.number > seen.value).length,
  );

  const follow = (): void => {
    const element = box.current;
    if (!element) return;
    atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX;
    if (atEnd.current) seen.value = chat.lastReply.peek();
  };
  const toEnd = (): void => {
    const element = box.current;
    if (element) element.scrollTop = element.scrollHeight;
  };

  const drawn = (): void => {
    if (atEnd.current) toEnd();
    follow();
  };

  useLayoutEffect(drawn);
  // What visitors send brings them to the end.
  useSignalEffect(() => {
    if (chat.outbox.items.value.some((item) => item.status === "waiting")) atEnd.current = true;
  });
  useEffect(() => {
    const resized = new ResizeObserver(() => atEnd.current && toEnd());
    resized.observe(box.current!);
    resized.observe(box.current!.firstElementChild!);
    return () => resized.disconnect();
  }, []);

  const earlier = async (): Promise<void> => {
    const element = box.current!;
    const height = element.scrollHeight;
    loading.value = true;
    try {
      await chat.loadEarlier();
    } finally {
      requestAnimationFrame(() => {
        element.scrollTop += element.scrollHeight - height;
        loading.value = false;
      });
    }
  };

  const lines = chat.lines.value;
  const last = lines.at(-1);
  const isEmpty = !lines.length && !chat.outbox.items.value.length;
  return (
    <div class="log" ref={box} onScroll={follow} tabIndex={0} role="region" aria-label={words.messages}>
      <div class="column">
        {chat.hasEarlier.value && (
          <button type="button" class="button earlier" disabled={loading.value} onClick={() => void earlier()}>
            {words.earlier}
          </button>
        )}
        {isEmpty && chat.ready.value && (
          <div class="greeting">
            <Avatar name={settings.title} />
            <p dir="auto">{settings.title}</p>
            <p dir="auto">{settings.greeting}</p>
          </div>
        )}
        <div class="lines" role="log" aria-label={words.conversation} aria-live={loading.value ? "off" : "polite"}>
          <ol>
            {lines.map((line, at) => [
              startsDay(line, lines[at - 1]) && <Day key={`day-${line.number}`} at={line.at} />,
              <LineView
                key={line.number}
                line={line}
                chat={chat}
                follows={belongs(line, lines[at - 1])}
                timed={isApart(line, lines[at + 1])}
                open={line.number > chat.lastSaid.value}
                answer={chat.answers.value.get(line.number)}
              />,
            ])}
            <Tail chat={chat} follows={last?.direction === "out"} drawn={drawn} />
            {chat.outbox.items.value.map((item) => (
              <PendingView key={item.message.id} item={item} chat={chat} follows={last?.direction === "in"} />
            ))}
            {chat.isTyping.value && <Typing />}
          </ol>
        </div>
      </div>
      {unread.value > 0 && !atEnd.current && (
        <button type="button" class="button pill" onClick={toEnd}>
          <Icon name="down" />
          {phrase(words.fresh, unread.value)}
        </button>
      )}
    </div>
  );
}

/** What is being written: drawn on its own, so that the lines before are left alone. */
function Tail({ chat, follows, drawn }: { chat: Conversation; follows: boolean; drawn(): void }): VNode {
  useLayoutEffect(drawn);
  const draft = chat.draft.value;
  return <>{draft && <DraftView draft={draft} follows={follows} />}</>;
}

function belongs(line: Line, before: Line | undefined): boolean {
  return before?.direction === line.direction && before.author === line.author && !isApart(before, line);
}

function isApart(line: Line, next: Line | undefined): boolean {
  return next === undefined || Date.parse(next.at) - Date.parse(line.at) > TOGETHER_MS;
}

function startsDay(line: Line, before: Line | undefined): boolean {
  const day = (at: string): string => new Date(at).toDateString();
  return before ? day(line.at) !== day(before.at) : day(line.at) !== new Date().toDateString();
}

const DAY = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });

function Day({ at }: { at: string }): VNode {
  return (
    <li class="day">
      <span>{DAY.format(new Date(at))}</span>
    </li>
  );
}
