/** Served as `/console.js`. Comfort only: every page is complete without it. */
export const CONSOLE_SCRIPT = `
function offerCopies() {
  for (const button of document.querySelectorAll('[data-copy]')) {
    button.hidden = false;
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(button.previousElementSibling.textContent);
      button.textContent = 'Copied';
      setTimeout(() => (button.textContent = 'Copy'), 2000);
    });
  }
}
offerCopies();

// Ctrl and Enter sends a query.
document.addEventListener('keydown', event => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && event.target.matches?.('[data-submit]'))
    event.target.form.requestSubmit(event.target.form.querySelector('button.main'));
});

// The same page again, while somebody looks at it and is not in the middle of something.
const isBusy = () => 'still' in document.body.dataset || document.hidden || document.querySelector('main')?.contains(document.activeElement);
setInterval(async () => {
  if (isBusy()) return;
  const answer = await fetch(location.href).catch(() => null);
  if (!answer?.ok || isBusy()) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const open = [...document.querySelectorAll('details')].map(each => each.open);
  fresh.querySelectorAll('details').forEach((each, index) => (each.open = open[index] ?? false));
  document.title = fresh.title;
  for (const part of ['main', '.live']) document.querySelector(part)?.replaceWith(fresh.querySelector(part));
  offerCopies();
}, 10000);
`;
