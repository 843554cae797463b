import { createHmac } from "node:crypto";
import { type Call, getJson, type HttpClient, type Reply } from "./http_client.ts";
import type { Ledger } from "./ledger.ts";
import type { Outcomes } from "./outcomes.ts";

/** What all clients of a run share. */
export interface Run {
  readonly port: number;
  readonly secrets: Readonly<Record<string, string>>;
  readonly outcomes: Outcomes;
  readonly ledger: Ledger;
  /** A number from 0 to below 1. */
  readonly random: () => number;
  /** Whether the clients go on. */
  isOn(): boolean;
  /** Waits until the next request may be sent. */
  pace(): Promise<void>;
}

/** How a request is judged. */
export interface Expectation {
  readonly kind: string;
  readonly expected: readonly (number | string)[];
  readonly usesDatabase?: boolean;
}

/**
 * Sends a request and counts its outcome.
 *
 * @returns The reply, and whether it was what is expected while all is well.
 */
export async function sendAndJudge(
  run: Run,
  client: HttpClient,
  { kind, expected, usesDatabase = true }: Expectation,
  call: Call,
): Promise<{ reply: Reply; went: boolean }> {
  const reply = await client.send(call);
  const { code } = Number(reply.status) >= 400 ? getJson(reply) as { code?: string } : {};
  const { status: result, startedAt, endedAt } = reply;
  return {
    reply,
    went: run.outcomes.add({ kind, result, startedAt, endedAt, expected, usesDatabase, code }),
  };
}

/** Headers with which a JSON body is sent. */
export const JSON_HEADERS = { "Content-Type": "application/json" } as const;

/** The HMAC of a text, in hex. */
export function sign(secret: string, text: string): string {
  return createHmac("sha256", secret).update(text).digest("hex");
}

/** Picks by weight. */
export function pick<T>(
  choices: readonly (readonly [weight: number, choice: T])[],
  random: () => number,
): T {
  let at = random() * choices.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, choice] of choices) if ((at -= weight) < 0) return choice;
  return choices[0][1];
}
