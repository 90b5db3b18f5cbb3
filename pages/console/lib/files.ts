// Files that the page makes.

/** Let the browser save a text as a file. */
export function save(text: string, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text]));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Rows as CSV. */
export function csv(rows: object[], fields: readonly string[]): string {
  const cell = (value: unknown): string => (/[",\n]/.test(String(value ?? "")) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? ""));
  return [fields.join(","), ...rows.map((row) => fields.map((field) => cell((row as Record<string, unknown>)[field])).join(","))].join("\n");
}
