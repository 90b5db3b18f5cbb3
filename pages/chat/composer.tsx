// Where a visitor writes. Enter sends, Shift and Enter begins a line.

import type { TargetedKeyboardEvent, VNode } from "preact";
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import type { Conversation } from "./conversation";
import { Icon } from "./icons";
import { words } from "./words";

const MOST_PX = 160;

interface Props {
  chat: Conversation;
  placeholder: string;
  most: number;
}

export function Composer({ chat, placeholder, most }: Props): VNode {
  const text = useSignal("");
  const input = useRef<HTMLTextAreaElement>(null);
  const isPhone = matchMedia("(pointer: coarse)").matches;

  useEffect(() => {
    if (!isPhone) input.current?.focus({ preventScroll: true });
  }, []);

  const grow = (): void => {
    const element = input.current!;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight + 2, MOST_PX)}px`;
  };
  const send = (): void => {
    const said = text.value.trim();
    if (!said) return;
    chat.say(said);
    text.value = "";
    input.current!.value = "";
    grow();
    input.current!.focus();
  };
  const pressed = (event: TargetedKeyboardEvent<HTMLTextAreaElement>): void => {
    // A phone has no Shift key to begin a line with, and a word in the making is not finished.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || isPhone) return;
    event.preventDefault();
    send();
  };

  return (
    <form
      class="composer column"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <label class="hidden" for="message">
        {placeholder}
      </label>
      <textarea
        id="message"
        ref={input}
        rows={1}
        dir="auto"
        maxLength={most}
        placeholder={placeholder}
        enterkeyhint="send"
        onInput={(event) => {
          text.value = event.currentTarget.value;
          grow();
        }}
        onKeyDown={pressed}
      />
      <button type="submit" class="send" aria-label={words.send} disabled={!text.value.trim()}>
        <Icon name="send" />
      </button>
    </form>
  );
}
