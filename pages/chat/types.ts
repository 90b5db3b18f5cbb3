// What the server sends and receives: see server/routes/chat.py.

export interface Button {
  label: string;
  value: string;
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export interface Payload {
  text?: string;
  markdown?: boolean;
  buttons?: Button[];
  card?: JsonObject;
  form?: JsonObject;
  choice?: string;
  data?: Json;
  reply?: number;
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

export interface Visit {
  lines: Line[];
  more: boolean;
  standing: Standing;
  conversation: number;
  most_bytes: number;
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
  text?: string;
  choice?: string;
  data?: Json;
  reply?: number;
}
