// The page: a head, the log, and where a visitor writes.

import type { VNode } from "preact";
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import { Composer } from "./composer";
import type { Conversation } from "./conversation";
import type { Host } from "./host";
import { Avatar, Icon } from "./icons";
import { Log } from "./log";
import type { Settings } from "./settings";

/** Bytes of the largest message, as characters of any language. */
const MOST_CHARACTERS = 16_000;

interface Props {
  chat: Conversation;
  host: Host;
  settings: Settings;
}

export function App({ chat, host, settings }: Props): VNode {
  return (
    <div class="chat" onKeyDown={(event) => event.key === "Escape" && host.close()}>
      <Head chat={chat} host={host} settings={settings} />
      {chat.closed.value ? (
        <main class="closed">
          <p>{chat.closed.value}</p>
        </main>
      ) : (
        <>
          <main class="main">
            <Log chat={chat} settings={settings} />
          </main>
          <footer class="foot">
            <Composer chat={chat} placeholder={settings.placeholder} most={MOST_CHARACTERS} />
          </footer>
        </>
      )}
    </div>
  );
}

function Head({ chat, host, settings }: Props): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const failed = useSignal(false);
  const restart = async (): Promise<void> => {
    failed.value = false;
    try {
      await chat.restart();
      dialog.current?.close();
    } catch {
      failed.value = true;
    }
  };
  return (
    <header class="head">
      <div class="column">
        <Avatar name={settings.title} />
        <div class="name">
          <h1 dir="auto">{settings.title}</h1>
          <Status chat={chat} />
        </div>
        {chat.lines.value.length > 0 && (
          <button type="button" class="tool" aria-label="Start over" title="Start over" onClick={() => dialog.current?.showModal()}>
            <Icon name="restart" />
          </button>
        )}
        {host.isFramed && (
          <button type="button" class="tool" aria-label="Close chat" title="Close chat" onClick={() => host.close()}>
            <Icon name="close" />
          </button>
        )}
      </div>
      <dialog ref={dialog} aria-labelledby="over" onKeyDown={(event) => event.stopPropagation()}>
        <h2 id="over">Start over?</h2>
        <p>The conversation ends here, and this page forgets it.</p>
        {failed.value && <p class="problem">That did not work. Try again in a moment.</p>}
        <div class="actions">
          <button type="button" class="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="button" class="button primary" onClick={() => void restart()}>
            Start over
          </button>
        </div>
      </dialog>
    </header>
  );
}

function Status({ chat }: { chat: Conversation }): VNode {
  const person = chat.standing.value.person;
  const isOffline = chat.link.value === "lost";
  const words = isOffline
    ? navigator.onLine
      ? "Connecting again…"
      : "Offline. Messages are sent when you are back."
    : chat.link.value === "connecting"
      ? "Connecting…"
      : person
        ? `${person} is answering`
        : "Online";
  return (
    <p class={`status ${isOffline ? "lost" : chat.link.value}`} role="status">
      {person && !isOffline && <Icon name="person" />}
      <span>{words}</span>
    </p>
  );
}
