// Where a visitor writes. Enter sends, Shift and Enter begins a line.

import type { TargetedClipboardEvent, TargetedKeyboardEvent, VNode } from "preact";
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import type { Conversation } from "./conversation";
import { Tray } from "./files";
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
  const { uploads } = chat;
  const isReady = !uploads.isBusy.value && (text.value.trim() !== "" || uploads.ready.value.length > 0);

  useEffect(() => {
    if (!isPhone) input.current?.focus({ preventScroll: true });
  }, []);

  const grow = (): void => {
    const element = input.current!;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight + 2, MOST_PX)}px`;
  };
  const send = (): void => {
    if (!isReady) return;
    chat.say(text.value.trim(), uploads.take());
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
  const pasted = (event: TargetedClipboardEvent<HTMLTextAreaElement>): void => {
    const files = event.clipboardData?.files;
    if (!files?.length || !chat.takes.value) return;
    event.preventDefault();
    uploads.add(files);
  };

  return (
    <>
      <Tray uploads={uploads} />
      <form
        class="composer column"
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        {chat.takes.value && <Attach chat={chat} />}
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
          onPaste={pasted}
        />
        <button type="submit" class="send" aria-label={words.send} disabled={!isReady}>
          <Icon name="send" />
        </button>
      </form>
    </>
  );
}

/** Chooses files; the field itself is hidden, and the button opens it. */
function Attach({ chat }: { chat: Conversation }): VNode {
  const field = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={field}
        type="file"
        hidden
        multiple
        accept={chat.takes.value!.extensions.join(",")}
        onChange={(event) => {
          chat.uploads.add([...event.currentTarget.files!]);
          // So that the same file can be chosen again.
          event.currentTarget.value = "";
        }}
      />
      <button type="button" class="tool attach" aria-label={words.attach} title={words.attach} onClick={() => field.current!.click()}>
        <Icon name="clip" />
      </button>
    </>
  );
}
