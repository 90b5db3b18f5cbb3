// Files: those of a line, and those on their way.

import type { VNode } from "preact";

import { fileAddress } from "./calls";
import { Icon } from "./icons";
import { isAddress } from "./markdown";
import type { FileRef } from "./types";
import { sizeOf, type Uploads } from "./uploads";
import { words } from "./words";

const SHOWN = /^image\/(png|jpeg|gif|webp)$/;

/** The files of a message or a reply. */
export function Files({ files }: { files: FileRef[] }): VNode {
  return (
    <ul class="files">
      {files.map((file, at) => (
        <li key={file.id ?? at}>
          <FileLink file={file} />
        </li>
      ))}
    </ul>
  );
}

function FileLink({ file }: { file: FileRef }): VNode | null {
  const name = file.name || words.files;
  const address = file.id ? fileAddress(file.id) : file.url;
  if (!address || (!file.id && !isAddress(address))) return null;
  const isPicture = file.id && SHOWN.test(file.type ?? "");
  return (
    <a
      class={isPicture ? "file shown" : "file"}
      href={address}
      {...(file.id ? { download: name } : { target: "_blank", rel: "noopener noreferrer nofollow" })}
    >
      {isPicture ? (
        <img src={address} alt={name} loading="lazy" />
      ) : (
        <>
          <Icon name="file" />
          <bdi class="file-name">{name}</bdi>
          {file.size !== undefined && <span class="file-size">{sizeOf(file.size)}</span>}
        </>
      )}
    </a>
  );
}

/** What the next message will bring, with a way to take each of them back. */
export function Tray({ uploads }: { uploads: Uploads }): VNode | null {
  const items = uploads.items.value;
  if (!items.length && !uploads.notice.value) return null;
  return (
    <div class="tray column">
      <ul aria-label={words.files}>
        {items.map((item) => (
          <li key={item.key} class={`upload${item.problem ? " failed" : ""}`}>
            <Icon name={item.problem ? "warning" : item.file ? "check" : "file"} />
            <span class="upload-text">
              <bdi class="file-name">{item.name}</bdi>
              <span class="file-size">{item.problem ?? sizeOf(item.size)}</span>
            </span>
            {!item.file && !item.problem && <progress max={1} value={item.done} aria-label={item.name} />}
            <button
              type="button"
              class="tool"
              aria-label={`${item.file || item.problem ? words.remove : words.cancel}: ${item.name}`}
              onClick={() => uploads.remove(item.key)}
            >
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ul>
      <p class={uploads.notice.value ? "problem" : "hidden"} role="status">
        {uploads.notice.value || items.map((item) => item.problem && `${item.name}: ${item.problem}`).filter(Boolean).join(" ")}
      </p>
    </div>
  );
}
