"""The training loop over arrays."""

from ._spillway import _train


def _progress_bar(on_step):
    """`on_step` with a bar of tqdm, and what closes the bar."""
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        from .errors import Unavailable
        raise Unavailable("progress needs tqdm; on_step does not") from error
    bar = tqdm(unit="step")

    def step(progress):
        bar.total = progress["steps"]
        bar.set_postfix(loss=f"{progress['loss']:.4f}", refresh=False)
        bar.update(progress["step"] + 1 - bar.n)
        return on_step(progress) if on_step else None

    return step, bar.close


def train(session, data, *, epochs=1, test=None, learning_rate=None, shuffle=True,
          seed=0, on_step=None, on_epoch=None, checkpoint=None, checkpoint_updates=0,
          progress=False):
    """Trains a session's step on the rows of `data`, batch by batch.

    session: a Session of a training step.
    data: {input: array [samples, ...]}, for each input of the step; or a
        spillway.data.Dataset; or an object with __len__ and __getitem__, whose
        items are a dict of arrays or a tuple in the order of the step's inputs. Rows
        that do not fill a batch at the end of an epoch are left out of it.
    epochs: how often the data is read, in another order each time if `shuffle`.
    test: as data, with images and labels, evaluated after each epoch by the
        session's evaluation step (of a model of the zoo); None: not.
    learning_rate: of a step that was made with feed_learning_rate=True: a number,
        or a function of the number of steps done before.
    seed: of the order of the samples.
    on_step, on_epoch: called with a dict of step, steps, epoch, loss, accuracy, or
        of what this function returns; a true result ends the training there.
    checkpoint: a path that is written after each epoch, and after every
        `checkpoint_updates` steps if that is not 0; if it exists, the training
        goes on from there, bitwise as if it had not been interrupted.
    progress: True: a bar of tqdm.

    With workers, all ranks call this with the same data, and each reads its own
    part of it; losses and accuracies are those of all ranks, rank 0 writes the
    checkpoint, and a wish of one rank to stop ends the training of all.

    Returns a list with a dict for each epoch: epoch, steps, complete, loss,
    accuracy, test_accuracy, seconds, data_wait_seconds. Ctrl-C ends the training
    after the step, with a checkpoint.
    """
    close = None
    if progress:
        on_step, close = _progress_bar(on_step)
    try:
        return _train(session, data, epochs=epochs, test=test,
                      learning_rate=learning_rate, shuffle=shuffle, seed=seed,
                      on_step=on_step, on_epoch=on_epoch, checkpoint=checkpoint,
                      checkpoint_updates=checkpoint_updates)
    finally:
        if close:
            close()
