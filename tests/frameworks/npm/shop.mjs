// What the jobs of every JavaScript framework carry and throw, and the lines that a program prints.

/** The namespaced, multi-field error that payment code throws. */
export class PaymentDeclined extends Error {
  constructor(message) {
    super(message);
    this.name = "Shop.PaymentDeclined";
    this.code = "card_declined";
  }
}

class LookupError extends Error {
  name = "LookupError";
}

const hidden = {
  unicode: { "naïve": "ключ 💥", rtl: "שלום", escape: "\u001b[31mred" },
  big: { lines: Array.from({ length: 800 }, (_, n) => ({ n, text: "x".repeat(30) })) },
};

/** The arguments of a job: its marker, by which it is known everywhere, and what the kind adds. */
export const payload = (kind, marker) => ({ marker, kind, amount: "12.50", ...hidden[kind] });

/** Throws as jobs of this kind do; `otherwise` all the same, which is none of theirs. */
export function fail(kind, marker) {
  if (words[1] === "otherwise") throw new LookupError(`nothing known of ${marker}`);
  switch (kind) {
    case "multiline":
      throw new PaymentDeclined(`first line of ${marker}\nsecond line\n\n    an indented one`);
    case "empty":
      throw new Error("");
    case "unicode":
      throw new TypeError(`ошибка ${marker} — 失敗 💥 \u0007bell`);
    case "big":
      throw new RangeError(`${marker} ${"too much ".repeat(500)}`);
    case "cause":
      throw new Error(`outer of ${marker}`, { cause: new RangeError(`inner of ${marker}`) });
    case "string":
      throw `just a string of ${marker}`;
    case "object":
      throw { status: 502, body: `bad gateway for ${marker}` };
    case "undefined":
      throw undefined;
    default:
      throw new PaymentDeclined(`declined: ${marker}`);
  }
}

export const say = (line) => console.log(JSON.stringify(line));

/** Runs a job: throws where the world is broken, and says in either case what happened. */
export function run(broken, kind, marker) {
  if (!broken) return say({ ran: marker, kind, ok: true });
  try {
    fail(kind, marker);
  } catch (error) {
    const known = error instanceof Error;
    say({ ran: marker, kind, ok: false, class: known ? error.name : null, message: known ? error.message : null });
    throw error;
  }
}

/** The jobs that the command line names, each as `KIND/MARKER`. */
export const jobs = (words) => words.map((word) => {
  const at = word.indexOf("/");
  return [word.slice(0, at), word.slice(at + 1)];
});

export const database = process.env.DATABASE_URL;
export const [verb, ...words] = process.argv.slice(2);

/** Calls the function that is named as the verb on the command line is. */
export async function main(verbs) {
  if (!verbs[verb]) throw new Error(`no such verb: ${verb}`);
  await verbs[verb](...words);
}
