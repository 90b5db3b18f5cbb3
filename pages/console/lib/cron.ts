// Cron lines in words, for the lines that people write; others are shown as they are.

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const NAMES = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const MONTHS = ["", "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];

export function inWords(cron: string): string {
  const fields = cron.trim().split(/\s+/);
  if (fields.length !== 5) return cron;
  const [minute, hour, day, month, weekday] = fields as [string, string, string, string, string];
  const time = timeWords(minute, hour);
  if (time === null) return cron;
  const days = dayWords(day, weekday);
  const months = month === "*" ? "" : listed(month, (part) => MONTHS[Number(part)] ?? null, " in ");
  if (days === null || months === null) return cron;
  const words = `${time}${days}${months}`;
  return words[0]!.toUpperCase() + words.slice(1);
}

function timeWords(minute: string, hour: string): string | null {
  const every = /^\*\/(\d+)$/;
  if (minute === "*" && hour === "*") return "every minute";
  if (every.test(minute) && hour === "*") return `every ${every.exec(minute)![1]} minutes`;
  if (/^\d+$/.test(minute)) {
    if (hour === "*") return `every hour at :${minute.padStart(2, "0")}`;
    if (every.test(hour)) return `every ${every.exec(hour)![1]} hours at :${minute.padStart(2, "0")}`;
    return listed(hour, (part) => (/^\d+$/.test(part) ? `${part.padStart(2, "0")}:${minute.padStart(2, "0")}` : null), "at ");
  }
  return null;
}

function dayWords(day: string, weekday: string): string | null {
  if (day === "*" && weekday === "*") return "";
  if (day === "*") {
    const range = /^([0-7]|[a-z]{3})-([0-7]|[a-z]{3})$/i.exec(weekday);
    if (range) {
      const [from, to] = [nameOf(range[1]!), nameOf(range[2]!)];
      return from === "Monday" && to === "Friday" ? " on weekdays" : from && to ? `, ${from} to ${to}` : null;
    }
    return listed(weekday, nameOf, " on ");
  }
  if (weekday === "*") return listed(day, (part) => (/^\d+$/.test(part) ? part : null), " on day ");
  return null;
}

function nameOf(part: string): string | null {
  return /^[0-7]$/.test(part) ? DAYS[Number(part)]! : (DAYS[NAMES.indexOf(part.toUpperCase())] ?? null);
}

/** "9,12" → "at 09:00 and 12:00"; null if a part is not understood. */
function listed(text: string, word: (part: string) => string | null, before: string): string | null {
  const words = text.split(",").map(word);
  if (words.includes(null) || words.length > 6) return null;
  return before + (words.length > 1 ? `${words.slice(0, -1).join(", ")} and ${words.at(-1)}` : words[0]!);
}
