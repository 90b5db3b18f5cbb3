// What lanes and queues did in the last hour.

import { call, type Reply } from "./call";
import { scope } from "./session";
import { useLoad } from "./load";

export type History = Reply<"GET /v1/history">["items"][number];

const EVERY_MS = 15_000;

/** The histories of lanes or queues; nothing where the server does not have them. */
export function useHistory(subject: "lane" | "queue"): History[] {
  const tenant = scope.value ?? "*";
  const found = useLoad((signal) => call("GET /v1/history", { query: { tenant, subject, points: 60 }, signal }), [tenant, subject], { every: EVERY_MS });
  return found.data?.items ?? [];
}

/** A figure of some histories together. */
export function sumOf(histories: History[], ...figures: string[]): number[] | undefined {
  const columns = histories.flatMap((history) => figures.map((figure) => history.figures[figure] ?? []));
  return columns[0]?.map((_, at) => columns.reduce((sum, column) => sum + (column[at] ?? 0), 0));
}
