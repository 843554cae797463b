/** Parts of names, in lower case without punctuation, whose values stay out of logs. */
const SENSITIVE_PARTS = [
  "passw|passphrase|passcode|pwd|secret|token|authorization|cookie|credential|signature|originverify",
  "connectionstring|jwt|cardnumber|securitycode|mnemonic|seedphrase|codeverifier|clientassertion",
  "(?:access|account|api|auth|client|decryption|encryption|encrypt|hmac|host|kms|master|private)key",
  "(?:service|session|shared|signing|ssh|storage|symmetric|wrapping)key",
  "(?:2fa|auth|backup|confirmation|device|login|mfa|onetime|recovery|reset|sms|twofactor)codes?",
  "(?:verification|authorization|activation|scratch|invite|invitation)codes?",
  "sess(?:ion)?id|samlassertion|otpauth|keymaterial|onetimepin|recoveryphrase|socialsecurity|kubeconfig",
  "creditcard(?:n|$)|security(?:answer|response)",
];
/** Names that count only as the whole name. */
const SENSITIVE_NAMES = [
  "xauth|(?:connect|php)?sid|samlresponse|passkey",
  "(?:db|database|user|admin|root|smtp|mail|ftp|redis|pg|mysql|postgres|rds)?pass",
  "(?:credit|debit|bank)cards?|(?:saml|jwt|oauth|auth|login|bearer)?assertion|auth(?:entication)?assertion",
  "[a-z0-9]{0,32}otp(?:code)?s?",
];
const SENSITIVE = new RegExp(`${SENSITIVE_PARTS.join("|")}|^(?:${SENSITIVE_NAMES.join("|")})$`);

/** Words that count at the end of a name only: `userPass`, but not `passCount`. */
const LAST_WORDS = [
  "pass|pw|pin|pin_(?:code|number)|cvv|cvc|(?:cvv|cvc)_code|ssn|auth|auth_headers?|bearer|creds?|csrf|xsrf|verifier",
  "session|sess|sid|session_(?:data|state|hash|value)",
  "(?:otp|totp|hotp|mfa)(?:_(?:code|pin|seed|uri|url|value|input|answer)s?)?",
  "(?:aes|app|cipher|consumer|crypto|deploy|ec|enc|functions?|gpg|license|licence|pgp|priv|recovery)_?keys?",
  "(?:rsa|sign|ssl|subscription|tls|webhook|data|mac|hashing|stripe|openai|twilio|sendgrid|mailgun|anthropic)_?keys?",
  "(?:conn|connect|connection|database|db)_?(?:str|string|dsn)|secret_?answer",
  "(?:magic|reset|login|signin|invite|invitation|verification|verify|confirmation|activation)_(?:link|url|uri|ticket)",
];
const SENSITIVE_END = new RegExp(`(?:^|_)(?:${LAST_WORDS.join("|")})$`);

/** Query parameters that carry a secret in URLs. Elsewhere these names mean other things. */
const SENSITIVE_PARAMETERS = /^(?:code|key|sig|state|ticket|otp|hash|assertion|user_?code)$/;

/**
 * Checks whether values under a key are kept out of logs, by the key's name in any spelling:
 * `apiKey`, `api_key` and `X-Api-Key` are one name.
 *
 * @param key A property's name, in any spelling.
 * @param more Further names, in lower case, that must match the whole name.
 */
export function isSensitiveKey(key: string, more?: ReadonlySet<string>): boolean {
  let isSensitive = verdicts.get(key);
  if (isSensitive === undefined) {
    const words = splitWords(key);
    isSensitive = SENSITIVE.test(words.replaceAll("_", "")) || SENSITIVE_END.test(words);
    if (verdicts.size >= MAX_VERDICTS) verdicts.clear();
    verdicts.set(key, isSensitive);
  }
  return isSensitive || more?.has(key.toLowerCase()) === true;
}

/**
 * Verdicts on names: each log line has the same ones. Bounded, because names can come from a client. The names of the line that
 * ends an invocation are known, because compiling the expressions takes a twentieth of a cold start.
 */
const verdicts: Map<string, boolean> = new Map(
  ["operation", "duration_ms", "status"].map((name) => [name, false]),
);
const MAX_VERDICTS = 1000;

/**
 * Checks whether the value of a URL's query parameter is kept out of logs. Beside the sensitive
 * keys, these are short names such as `code` and `sig` that carry credentials only in URLs.
 *
 * @param name The parameter's name.
 */
export function isSensitiveParameter(name: string): boolean {
  return SENSITIVE_PARAMETERS.test(name.toLowerCase()) || isSensitiveKey(name);
}

/** Writes a name as words: `userPass2` and `User-Pass` become `user_pass`. */
function splitWords(key: string): string {
  return key.replace(/([a-z0-9])([A-Z])/g, "$1_$2").replace(/([A-Z])([A-Z][a-z])/g, "$1_$2")
    .toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/_?\d{1,4}$/, "");
}
