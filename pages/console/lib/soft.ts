// Reads that a page can do without.

import { Problem } from "./call";

/** Null where the caller may not read it, or the server does not have it. */
export async function soft<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof Problem && [400, 403, 404, 405, 422].includes(error.status)) return null;
    throw error;
  }
}
