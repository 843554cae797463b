type Json = Readonly<Record<string, unknown>>;

function refer(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}

/** An object whose properties are all required, apart from the optional ones. */
function fields(properties: Json, optional: Json = {}): Json {
  return {
    type: "object",
    properties: { ...properties, ...optional },
    required: Object.keys(properties),
  };
}

function list(items: Json): Json {
  return { type: "array", items };
}

const TEXT = { type: "string" };
const FLAG = { type: "boolean" };
const NUMBER = { type: "number", format: "double" };
const USER = refer("User");
const SESSION = refer("Session");
const MEMBER = refer("Member");
const INVITATION = refer("Invitation");
const ORGANIZATION = refer("Organization");
const SIGNED_IN = fields({ token: TEXT, user: USER });
const WITH_SESSION = fields({ session: SESSION, user: USER });
const WITH_REDIRECT = fields({ redirect: FLAG, token: TEXT, user: USER }, {
  url: { type: ["string", "null"] },
});
/** Always `null`: generators of other languages have no type for it. */
const NOTHING = { "x-const": null };
const PERMISSION = fields({ success: FLAG, error: NOTHING });

/** A member with those fields of the user that other members see. */
const MEMBER_WITH_USER = {
  allOf: [
    MEMBER,
    fields({ user: fields({ id: TEXT, name: TEXT, email: TEXT }, { image: nullable(TEXT) }) }),
  ],
};

function nullable(schema: { readonly type: string }): Json {
  return { ...schema, type: [schema.type, "null"] };
}

function extend(base: Json, properties: Json, optional?: Json): Json {
  return { allOf: [base, fields(properties, optional)] };
}

const FULL_ORGANIZATION = extend(ORGANIZATION, {
  members: list(MEMBER_WITH_USER),
  invitations: list(INVITATION),
}, { teams: list({ type: "object", additionalProperties: true }) });

/** A schema whose value is `null` if there is none, such as an active organization. */
function orNull(schema: Json): Json {
  return { anyOf: [schema, { type: "null" }] };
}

/** A passkey of WebAuthn (Level 3, section 5.8.3). */
const CREDENTIALS = list(fields({ id: TEXT, type: TEXT }, { transports: list(TEXT) }));
const OPTIONS = {
  timeout: NUMBER,
  hints: list(TEXT),
  extensions: { type: "object", additionalProperties: true },
};

/**
 * The bodies of successful responses that better-auth describes wrongly or not at all, by method and
 * path. The tests compare each with a response of the route (version 1.7.25).
 */
const ANSWERS: Readonly<Record<string, Json>> = {
  "GET /admin/get-user": USER,
  "POST /admin/has-permission": PERMISSION,
  "POST /admin/stop-impersonating": WITH_SESSION,
  "POST /admin/update-user": USER,
  "POST /change-password": fields({ token: nullable(TEXT), user: USER }),
  "GET /device": fields({ user_code: TEXT, status: TEXT }, {
    client_id: nullable(TEXT),
    scope: nullable(TEXT),
  }),
  "POST /is-username-available": fields({ available: FLAG }),
  "GET /magic-link/verify": fields({ token: TEXT, user: USER, session: SESSION }),
  "GET /multi-session/list-device-sessions": list(WITH_SESSION),
  "POST /multi-session/set-active": WITH_SESSION,
  "POST /organization/accept-invitation": fields({ invitation: INVITATION, member: MEMBER }),
  "POST /organization/cancel-invitation": INVITATION,
  "POST /organization/check-slug": fields({ status: FLAG }),
  "POST /organization/create": extend(ORGANIZATION, { members: list(MEMBER) }),
  "POST /organization/delete": ORGANIZATION,
  "GET /organization/get-active-member": MEMBER_WITH_USER,
  "GET /organization/get-active-member-role": fields({ role: TEXT }),
  "GET /organization/get-full-organization": orNull(FULL_ORGANIZATION),
  "GET /organization/get-organization": orNull(ORGANIZATION),
  "GET /organization/get-invitation": extend(INVITATION, {
    organizationName: TEXT,
    organizationSlug: TEXT,
    inviterEmail: TEXT,
  }),
  "POST /organization/has-permission": PERMISSION,
  "POST /organization/invite-member": INVITATION,
  "POST /organization/leave": MEMBER_WITH_USER,
  "GET /organization/list-invitations": list(INVITATION),
  "GET /organization/list-members": fields({ members: list(MEMBER_WITH_USER), total: NUMBER }),
  "GET /organization/list-user-invitations": list(extend(INVITATION, { organizationName: TEXT })),
  "POST /organization/reject-invitation": fields({
    invitation: INVITATION,
    member: NOTHING,
  }),
  "POST /organization/remove-member": fields({ member: MEMBER_WITH_USER }),
  "POST /organization/set-active": orNull(ORGANIZATION),
  "POST /organization/update": ORGANIZATION,
  "POST /organization/update-member-role": MEMBER,
  "GET /passkey/generate-authenticate-options": fields({ challenge: TEXT }, {
    ...OPTIONS,
    rpId: TEXT,
    allowCredentials: CREDENTIALS,
    userVerification: TEXT,
  }),
  "GET /passkey/generate-register-options": fields({
    challenge: TEXT,
    rp: fields({ name: TEXT }, { id: TEXT }),
    user: fields({ id: TEXT, name: TEXT, displayName: TEXT }),
    pubKeyCredParams: list(fields({ type: TEXT, alg: NUMBER })),
  }, {
    ...OPTIONS,
    excludeCredentials: CREDENTIALS,
    authenticatorSelection: fields({}, {
      authenticatorAttachment: TEXT,
      residentKey: TEXT,
      requireResidentKey: FLAG,
      userVerification: TEXT,
    }),
    attestation: TEXT,
  }),
  "POST /sign-in/anonymous": SIGNED_IN,
  "POST /sign-up/email": fields({ token: nullable(TEXT), user: USER }),
  "POST /two-factor/verify-backup-code": SIGNED_IN,
  "POST /two-factor/verify-otp": SIGNED_IN,
  "POST /two-factor/verify-totp": SIGNED_IN,
  "POST /update-user": fields({ status: FLAG }),
  "GET /verify-email": fields({ status: FLAG }, { user: orNull(USER) }),
};

/** A sign-in that needs a second factor. */
const SECOND_FACTOR = fields({ twoFactorRedirect: FLAG, twoFactorMethods: list(TEXT) });

/** Routes whose answer the plugin of second factors replaces. */
const WITH_SECOND_FACTOR: readonly string[] = [
  "POST /sign-in/email",
  "POST /sign-in/username",
];

/**
 * Returns the schema of a successful JSON response that better-auth's description has wrong.
 *
 * @param route Method and path: `POST /reset-password/{token}`.
 * @param hasSecondFactors Whether the configuration has the plugin of second factors.
 */
export function getAnswerSchema(route: string, hasSecondFactors: boolean): Json | undefined {
  if (hasSecondFactors && WITH_SECOND_FACTOR.includes(route)) {
    return { anyOf: [WITH_REDIRECT, SECOND_FACTOR] };
  }
  return ANSWERS[route];
}
