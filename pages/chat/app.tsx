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
import { phrase, words } from "./words";

/** Bytes of the largest message, as characters of any language. */
const MOST_CHARACTERS = 16_000;

interface Props {
  chat: Conversation;
  host: Host;
  settings: Settings;
}

export function App({ chat, host, settings }: Props): VNode {
  const { dragged, ...drop } = useDrop(chat);
  return (
    <div class="chat" onKeyDown={(event) => event.key === "Escape" && host.close()} {...drop}>
      <Head chat={chat} host={host} settings={settings} />
      {chat.closed.value ? (
        <main class="closed">
          <p>{chat.closed.value}</p>
        </main>
      ) : (
        <>
          <main class="main">
            <Log chat={chat} settings={settings} />
            {dragged && (
              <p class="drop" aria-hidden="true">
                <Icon name="clip" />
                {words.dropHere}
              </p>
            )}
          </main>
          <footer class="foot">
            <Composer chat={chat} placeholder={settings.placeholder} most={MOST_CHARACTERS} />
          </footer>
        </>
      )}
    </div>
  );
}

interface Drop {
  dragged: boolean;
  onDragOver(event: DragEvent): void;
  onDragLeave(event: DragEvent): void;
  onDrop(event: DragEvent): void;
}

/** Takes files that are dropped anywhere on the page. */
function useDrop(chat: Conversation): Drop {
  const dragged = useSignal(false);
  const hasFiles = (event: DragEvent): boolean => !!event.dataTransfer?.types.includes("Files");
  return {
    dragged: dragged.value && chat.takes.value !== null,
    onDragOver(event) {
      if (!hasFiles(event)) return;
      // Otherwise the browser leaves the chat and opens the file.
      event.preventDefault();
      dragged.value = true;
    },
    onDragLeave(event) {
      if (!(event.currentTarget as Node).contains(event.relatedTarget as Node | null)) dragged.value = false;
    },
    onDrop(event) {
      if (!hasFiles(event)) return;
      event.preventDefault();
      dragged.value = false;
      chat.uploads.add(event.dataTransfer!.files);
    },
  };
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
          <h1>
            <bdi>{settings.title}</bdi>
          </h1>
          <Status chat={chat} />
        </div>
        {chat.lines.value.length > 0 && (
          <button type="button" class="tool" aria-label={words.over} title={words.over} onClick={() => dialog.current?.showModal()}>
            <Icon name="restart" />
          </button>
        )}
        {host.isFramed && (
          <button type="button" class="tool" aria-label={words.close} title={words.close} onClick={() => host.close()}>
            <Icon name="close" />
          </button>
        )}
      </div>
      <dialog ref={dialog} aria-labelledby="over" onKeyDown={(event) => event.stopPropagation()}>
        <h2 id="over">{words.overAsk}</h2>
        <p>{words.overMeans}</p>
        {failed.value && <p class="problem">{words.overFailed}</p>}
        <div class="actions">
          <button type="button" class="button" onClick={() => dialog.current?.close()}>
            {words.cancel}
          </button>
          <button type="button" class="button primary" onClick={() => void restart()}>
            {words.over}
          </button>
        </div>
      </dialog>
    </header>
  );
}

function Status({ chat }: { chat: Conversation }): VNode {
  const person = chat.standing.value.person;
  const isOffline = chat.link.value === "lost";
  const text = isOffline
    ? navigator.onLine
      ? words.reconnecting
      : words.offline
    : chat.link.value === "connecting"
      ? words.connecting
      : person
        ? phrase(words.answering, person)
        : words.online;
  return (
    <p class={`status ${isOffline ? "lost" : chat.link.value}`} role="status">
      {person && !isOffline && <Icon name="person" />}
      <span>{text}</span>
    </p>
  );
}
