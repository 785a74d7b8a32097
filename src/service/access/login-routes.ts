import { Hono } from 'hono';
import { guardForms } from './form-guard.ts';
import { loginPage, logoutPage } from './login-page.ts';
import { pathOnSite } from './path-on-site.ts';
import { isSameSecret } from './same-secret.ts';
import { dropSession, startSession } from './session-cookie.ts';
import type { TokenAttempts } from './token-attempts.ts';
import { tooManyTokens } from './token-guard.ts';

/** `POST /login`, in front of `guardToken`: turns the token into a session. */
export function loginRoutes({ token, attempts }: { token: string; attempts: TokenAttempts }): Hono {
  return new Hono().post('/login', guardForms(), async c => {
    const { token: given = '', next = '/' } = await c.req.parseBody();
    const target = pathOnSite(String(next));
    const waitSeconds = attempts.waitSeconds(c);
    if (waitSeconds > 0) {
      c.header('Retry-After', String(waitSeconds));
      return c.html(loginPage(c, target, tooManyTokens(waitSeconds)), 429);
    }
    const isRight = isSameSecret(String(given), token);
    attempts.count(c, isRight);
    if (!isRight) return c.html(loginPage(c, target, 'That is not the token.'), 401);
    startSession(c, token);
    return c.redirect(target, 303);
  });
}

/** `GET /login` and `POST /logout`, behind `guardToken`, which asks browsers without a session to log in. */
export function logoutRoutes(): Hono {
  return new Hono()
    .get('/login', c => c.html(logoutPage(c)))
    .post('/logout', guardForms(), c => {
      dropSession(c);
      return c.redirect('/login', 303);
    });
}
