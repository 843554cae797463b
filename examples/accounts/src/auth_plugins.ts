import { mails } from "./mails.ts";
import { webOrigin } from "./web_origin.ts";

/**
 * Loads the plugins of better-auth. Only the function of the auth routes calls it, so that handlers
 * which check sessions do not load them.
 */
export async function loadPlugins() {
  const [
    { admin, anonymous, emailOTP, magicLink, multiSession, organization, twoFactor, username },
    { passkey },
  ] = await Promise.all([import("better-auth/plugins"), import("@better-auth/passkey")]);
  return [
    admin(),
    anonymous({ emailDomainName: "guests.example.com" }),
    emailOTP({ sendVerificationOTP: mails.sendVerificationOTP }),
    magicLink({ sendMagicLink: mails.sendMagicLink }),
    multiSession(),
    organization({ sendInvitationEmail: mails.sendInvitationEmail }),
    passkey({ rpID: new URL(webOrigin).hostname, rpName: "Accounts", origin: webOrigin }),
    twoFactor({ issuer: "Accounts", otpOptions: { sendOTP: mails.sendOTP } }),
    username(),
  ];
}
