use super::*;
use sigmabar_study::{AskRequest, StudySpec};
use std::path::Path;

fn spec(budget: usize, description: &str) -> StudySpec {
    let text = format!(
        "description = \"{description}\"\nbudget = {budget}\nstrategy = \"random\"\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n"
    );
    StudySpec::from_toml(&text, Path::new(".")).unwrap()
}

fn begun(directory: &Path, budget: usize) -> Study {
    Study::create(&directory.join("demo.db"), "demo", &spec(budget, "first")).unwrap()
}

fn amend(study: &Study, budget: usize) {
    assert_eq!(study.reopen().unwrap().amend(&spec(budget, "second")).unwrap(), ["description"]);
}

fn desk(study: Study) -> Arc<Desk> {
    Desk::new("demo".to_owned(), study, Interrupt::default()).unwrap()
}

#[test]
fn an_amendment_is_seen_however_much_happened_before_it() {
    let directory = tempfile::tempdir().unwrap();
    let study = begun(directory.path(), 6000);
    let desk = desk(study.reopen().unwrap());
    study.ask(&AskRequest::new("w", 6000)).unwrap();
    assert!(study.last_event().unwrap() > 6000, "an event for each trial");
    desk.look().unwrap();
    assert!(!desk.is_amended());
    let again = self::desk(study.reopen().unwrap());
    again.last_event.store(0, Ordering::Release);
    amend(&study, 6000);
    again.look().unwrap();
    assert!(again.is_amended() && again.last_event() == study.last_event().unwrap());
}

#[test]
fn an_amendment_between_opening_and_watching_is_seen() {
    let directory = tempfile::tempdir().unwrap();
    let study = begun(directory.path(), 8);
    let opened = study.reopen().unwrap();
    amend(&study, 8);
    assert!(desk(opened).is_amended());
    let opened = Study::open(study.file(), None).unwrap();
    assert!(!desk(opened).is_amended(), "one who opens it now has it as it is declared");
}

#[test]
fn a_lease_that_runs_out_is_seen_although_the_file_says_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let study = begun(directory.path(), 8);
    let desk = desk(study.reopen().unwrap());
    study.ask(&AskRequest::new("w", 2).with_lease(Duration::from_millis(300))).unwrap();
    study.ask(&AskRequest::new("v", 2).with_lease(Duration::from_secs(3600))).unwrap();
    desk.look().unwrap();
    assert_eq!((desk.has_lapsed(), desk.lapses()), (false, 0));
    std::thread::sleep(Duration::from_millis(350));
    assert!(desk.has_lapsed());
    let mut openings = desk.openings.subscribe();
    desk.look().unwrap();
    assert_eq!((desk.has_lapsed(), desk.lapses()), (false, 1));
    assert!(openings.has_changed().unwrap(), "whoever waits for trials looks again");
    openings.borrow_and_update();
    desk.look().unwrap();
    assert!(!openings.has_changed().unwrap(), "once");
}

#[test]
fn what_takes_long_is_made_once_for_each_state_and_by_one_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let study = begun(directory.path(), 8);
    let desk = desk(study.reopen().unwrap());
    let (made, at_once) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let make = || {
        let (made, at_once) = (Arc::clone(&made), Arc::clone(&at_once));
        move |_: &Study| {
            assert_eq!(at_once.fetch_add(1, Ordering::AcqRel), 0, "one at a time");
            std::thread::sleep(Duration::from_millis(20));
            at_once.fetch_sub(1, Ordering::AcqRel);
            Ok(made.fetch_add(1, Ordering::AcqRel))
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let page = || desk.kept("page".to_owned(), make());
        let (first, second) = tokio::join!(page(), page());
        assert_eq!((*first.unwrap(), *second.unwrap()), (0, 0), "both have the same");
        study.ask(&AskRequest::new("w", 1)).unwrap();
        assert_eq!(*page().await.unwrap(), 1, "something happened");
        // Somebody who goes away before the end: what was begun goes on, and the next one waits for it.
        assert!(tokio::time::timeout(Duration::from_millis(5), desk.in_turn(make())).await.is_err());
        assert_eq!(desk.in_turn(make()).await.unwrap(), 3);
        let crowd: Vec<_> = (0..100)
            .map(|_| (Arc::clone(&desk), make()))
            .map(|(desk, make)| tokio::spawn(async move { desk.in_turn(make).await }))
            .collect();
        let mut busy = 0;
        for one in crowd {
            busy += usize::from(one.await.unwrap().is_err_and(|refusal| refusal.error == "busy"));
        }
        assert!((1..=68).contains(&busy), "{busy} of 100 were told to come again");
    });
}

#[test]
fn a_page_does_not_wait_for_what_takes_long_and_has_the_last_one_meanwhile() {
    let directory = tempfile::tempdir().unwrap();
    let study = begun(directory.path(), 8);
    let desk = desk(study.reopen().unwrap());
    let made = Arc::new(AtomicU64::new(0));
    let make = |seconds: f64| {
        let made = Arc::clone(&made);
        move |_: &Study| {
            std::thread::sleep(Duration::from_secs_f64(seconds));
            Ok(made.fetch_add(1, Ordering::AcqRel))
        }
    };
    let slow = 3.0 * keeping::PATIENCE.as_secs_f64();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let page = |seconds: f64| {
            let (desk, make) = (Arc::clone(&desk), make(seconds));
            async move { desk.soon("page", make).await.unwrap().map(|page| *page) }
        };
        let mut news = desk.changes();
        let (first, second) = tokio::join!(page(slow), page(slow));
        assert_eq!((first, second), (None, None), "neither waits to the end");
        news.changed().await.unwrap();
        assert_eq!((page(slow).await, made.load(Ordering::Acquire)), (Some(0), 1), "it was made once, and they were told");
        study.ask(&AskRequest::new("w", 1)).unwrap();
        let begun = Instant::now();
        assert_eq!(page(0.0).await, Some(0), "the last one stays until the next is there");
        news.changed().await.unwrap();
        assert_eq!(page(slow).await, Some(1));
        assert!(begun.elapsed().as_secs_f64() > 0.8 * slow, "what took long rests before it is made again");
        let quick = desk.soon("quick", |_: &Study| Ok(7)).await.unwrap();
        assert_eq!(quick.as_deref(), Some(&7), "what is quick is there at once");
    });
}
