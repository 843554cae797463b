import { sendMail } from "./mail.ts";

/**
 * Loads the plugins of better-auth. Only the function of the auth routes calls it, so that handlers
 * which check sessions do not load them.
 *
 * @param webOrigin Origin of the web page.
 */
export async function loadPlugins(webOrigin: string) {
  const [
    { admin, anonymous, emailOTP, magicLink, multiSession, organization, twoFactor, username },
    { passkey },
  ] = await Promise.all([import("better-auth/plugins"), import("@better-auth/passkey")]);
  return [
    admin(),
    anonymous({ emailDomainName: "guests.example.com" }),
    emailOTP({
      sendVerificationOTP: ({ email, otp }) =>
        sendMail({ to: email, subject: "Your code", text: `Your code is ${otp}` }),
    }),
    magicLink({
      sendMagicLink: ({ email, url }) =>
        sendMail({ to: email, subject: "Sign in", text: `Sign in: ${url}` }),
    }),
    multiSession(),
    organization({
      sendInvitationEmail: ({ id, email, organization }) =>
        sendMail({
          to: email,
          subject: `Join ${organization.name}`,
          text: `Accept the invitation: ${webOrigin}/?invitation=${id}`,
        }),
    }),
    passkey({ rpID: new URL(webOrigin).hostname, rpName: "Accounts", origin: webOrigin }),
    twoFactor({ issuer: "Accounts" }),
    username(),
  ];
}
