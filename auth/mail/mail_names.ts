/** Longest name in a mail. */
const MAX_NAME = 64;

/** Characters of links and addresses. Names with them are left out of mails. */
const LINK_CHARACTERS = ["/", ":", "@", "\\"];

/**
 * Returns a name for a mail; empty if the name could carry its own message. Anyone can sign up
 * with the address of another person and a name such as `Your prize: evil.example`, and mail
 * programs make links of such texts.
 *
 * @param name The name that a user chose.
 */
export function showName(name: string): string {
  const isSafe = name.length <= MAX_NAME &&
    !LINK_CHARACTERS.some((character) => name.includes(character)) &&
    ![...name].some(isControl) && !hasDomain(name);
  return isSafe ? name : "";
}

function isControl(character: string): boolean {
  const code = character.codePointAt(0)!;
  return code < 32 || (code >= 127 && code < 160) || code === 0x2028 || code === 0x2029;
}

/** Checks for a dot inside of a word of three letters and more, such as `evil.example`. */
function hasDomain(name: string): boolean {
  return name.split(" ").some((word) => {
    const at = word.lastIndexOf(".", word.length - 2);
    return at > 0 && word.length - at > 2;
  });
}
