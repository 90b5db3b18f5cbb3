// What the server sends and receives: see server/routes/chat.py.

export interface Button {
  label: string;
  value: string;
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** A file: of this chat, by its id, or elsewhere, by its address. */
export interface FileRef {
  id?: string;
  url?: string;
  name?: string;
  type?: string;
  size?: number;
}

export interface Payload {
  text?: string;
  markdown?: boolean;
  buttons?: Button[];
  card?: JsonObject;
  form?: JsonObject;
  choice?: string;
  data?: Json;
  reply?: number;
  files?: FileRef[];
}

export interface Line {
  number: number;
  at: string;
  direction: "in" | "out";
  payload: Payload;
  id: string | null;
  author: string | null;
}

export type State = "idle" | "running" | "waiting" | "suspended" | "person";

export interface Standing {
  state: State;
  person: string | null;
}

/** The files that the chat takes. */
export interface Takes {
  most_bytes: number;
  most_files: number;
  extensions: string[];
}

export interface Visit {
  lines: Line[];
  more: boolean;
  standing: Standing;
  conversation: number;
  most_bytes: number;
  files: Takes | null;
}

export interface Part {
  number: number;
  text: string;
  start: number;
  markdown: boolean;
}

/** What a visitor says; the id makes it safe to send again. */
export interface Message {
  id: string;
  files?: FileRef[];
  text?: string;
  choice?: string;
  data?: Json;
  reply?: number;
}
