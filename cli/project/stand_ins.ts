import { STAND_IN_DOMAIN } from "../../env/recording.ts";

/** End of a stand-in, which makes it valid as a URL and as a secret. */
const END = `.${STAND_IN_DOMAIN}/0123456789-0123456789-0123456789`;
const STAND_IN = new RegExp(`https://[ab]-([0-9a-f]*)${END.replaceAll(".", "\\.")}`, "g");

/**
 * Creates the value of a variable that is not set.
 *
 * @param label `a` or `b`: facts that differ between the two depend on the variable.
 */
export function createStandIn(label: string, variable: string): string {
  const hex = [...new TextEncoder().encode(variable)].map((byte) => byte.toString(16)).join("");
  return `https://${label}-${hex}${END}`;
}

/** Replaces stand-ins by the names of their variables: `${NAME}`. */
export function nameStandIns(json: string): string {
  return json.replace(STAND_IN, (_, hex: string) => `\${${decode(hex)}}`);
}

/** Returns the variable of the first stand-in in a text. */
export function findStandIn(text: string): string | undefined {
  const [found] = text.matchAll(STAND_IN);
  return found && decode(found[1]);
}

function decode(hex: string): string {
  const bytes = (hex.match(/../g) ?? []).map((digits) => parseInt(digits, 16));
  return new TextDecoder().decode(new Uint8Array(bytes));
}
