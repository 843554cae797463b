import { REDACTED } from "./redacted.ts";

const WORD = /[^\s"'<>]+/g;
/** Digits before a slash are a port. JSON may have escaped the slashes. */
const USER_AND_PASSWORD = /:(?:\/\/|\\\/\\\/)([^\s:@/\\]*:)(?!\d+(?:[/?#]|$))/;
/** A user alone is a credential where no such address has a user without a password. */
const TOKEN = /((?:https?|wss?):(?:\/\/|\\\/\\\/))[^\s:@/?#\\]+(?=@)/i;
const WEB_SCHEME = /(?:https?|wss?|ftps?)$/i;

/**
 * Replaces credentials before the host of URLs: the password, and in addresses of the web the user
 * too, which may be a token.
 *
 * @param text Any text.
 * @returns The text without them.
 */
export function redactUrlUsers(text: string): string {
  return text.replace(WORD, redactUrlUser);
}

/** Reads up to the last `@`, because a password may hold an unencoded one, or a slash. */
function redactUrlUser(word: string): string {
  const end = word.lastIndexOf("@");
  if (end < 0) return word;
  const found = USER_AND_PASSWORD.exec(word);
  if (found === null || found.index + found[0].length > end) {
    return word.replace(TOKEN, `$1${REDACTED}`);
  }
  const isWeb = WEB_SCHEME.test(word.slice(0, found.index));
  const start = found.index + found[0].length - (isWeb ? found[1].length : 0);
  return word.slice(0, start) + REDACTED + word.slice(end);
}
