import type { Collector } from "./collector.ts";
import { CALL, type CallStep, DEFER, isCall, isUnused, NONE, type Path } from "./effects.ts";
import { collectDefault } from "./package_use.ts";
import type { ts } from "./typescript.ts";

/** The variable with the name of the configuration set of SES. */
export const CONFIGURATION_SET_VARIABLE = "MAIL_CONFIGURATION_SET";

const CONFIGURATION_SET = { name: CONFIGURATION_SET_VARIABLE, isRequired: false };

/** Properties of a mail that send nothing. */
const METADATA = ["mailName", "render"];

/**
 * Collects the use of a name that concerns mails. A function that only writes mails to the
 * outbox needs neither their templates nor the transport; only a worker, which uses the job, needs both.
 *
 * @returns False if the name is none of these.
 */
export function collectMail(c: Collector, node: ts.Node, name: string, path: Path): boolean {
  const [first, second] = path;
  if (!isCall(first)) return false;
  switch (name) {
    case "defineMail":
      collectDefinition(c, node, second, path);
      return true;
    case "createAccountMails":
      collectAccountMails(c, node, path, first);
      return true;
    case "configureMail":
      for (const argument of first.call.arguments ?? []) {
        c.emit({ kind: "mail-transport", unit: c.units.get(argument, []).unit });
      }
      return true;
    case "createSesTransport":
      if (isEvaluatedOnly(path)) return true;
      c.emit({ kind: "ses", node });
      collectDefault(c, node, first, "configurationSet", CONFIGURATION_SET);
      c.unknown(node, path);
      return true;
    case "createSmtpTransport":
      // the arguments are evaluated anyway; their functions are called when a mail is sent
      if (!isEvaluatedOnly(path)) c.unknown(node, path);
      return true;
    default:
      return false;
  }
}

function collectDefinition(
  c: Collector,
  node: ts.Node,
  member: Path[number] | undefined,
  path: Path,
): void {
  if (member === "send") {
    // the worker renders the mail; a function that sends it only writes the outbox
    c.emit({ kind: "jobs", need: "enqueue", why: "send of a mail", node });
    return c.unknown(node, path.slice(2));
  }
  const isUsed = !isUnused(path.slice(1)) && path.at(-1) !== DEFER;
  if (isUsed && !METADATA.includes(member as string)) c.emit({ kind: "mail-worker", node });
  c.unknown(node, path);
}

/**
 * Collects the mails of accounts. better-auth calls their functions in the auth routes; a direct call
 * enqueues a mail.
 */
function collectAccountMails(c: Collector, node: ts.Node, path: Path, { call }: CallStep): void {
  const [, member, use] = path;
  c.emit({ kind: "auth-mails" });
  if (member === "jobs") {
    c.emit({ kind: "mail-worker", node });
    return c.unknown(node, path);
  }
  if (isCall(use)) {
    c.emit({ kind: "jobs", need: "enqueue", why: "a mail of an account", node });
  }
  const [options] = call.arguments ?? [];
  if (options !== undefined) c.reach(options, ["getDb", CALL, NONE]);
  c.release(path.slice(1));
}

function isEvaluatedOnly(path: Path): boolean {
  return isUnused(path.slice(1));
}
